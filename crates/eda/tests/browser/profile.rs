//! What a profile keeps.

use pcbflow_eda::browser::{Closed, CopyFault, Profile, copy_profile};
use serde_json::json;

use super::support::{PATIENT, Site, World, body, chromium, launch, value};

#[tokio::test]
async fn a_sign_in_survives_a_close_and_a_copy() {
    let site = Site::new().await;
    let world = World::new().await;
    let tab = world.tab(&site.url("/")).await;
    let sign_in = "document.cookie = 'session=s1; max-age=86400'; \
                   localStorage.isLogin = 'u1'; return 1;";
    tab.evaluate(&body(sign_in, PATIENT)).await.unwrap();
    let copy = Profile::at(world.place.beside("copy"));
    let in_use = copy_profile(&world.place.folder(), &copy).unwrap_err();
    assert!(matches!(in_use, CopyFault::InUse(_)), "{in_use:?}");
    let World { place, browser } = world;
    assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
    place.assert_clean();
    let copied = copy_profile(&place.folder(), &copy).unwrap();
    assert!(copied.files > 3, "{copied:?}");
    let both = "[document.cookie, localStorage.isLogin]";
    for folder in [place.folder(), copy.folder().to_owned()] {
        let browser = launch(chromium(), &folder).start().await.unwrap();
        let client = browser.client();
        let tab = client.create_tab(&site.url("/"), PATIENT).await.unwrap();
        let tab = client.attach(&tab, PATIENT).await.unwrap();
        tab.wait_ready(&site.url("/"), "true", PATIENT).await.unwrap();
        assert_eq!(value(&tab, both).await, json!(["session=s1", "u1"]), "{folder:?}");
        drop(tab);
        assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
        place.assert_clean();
    }
}
