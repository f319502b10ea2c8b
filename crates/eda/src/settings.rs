//! Where the editor is and how its browser is started.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browser::{Sandbox, System, lasting_folder};

/// Address of the editor, unless the person sets another.
pub const ADDRESS: &str = "https://pro.easyeda.com/editor";

/// What a person sets about the editor and its browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorSettings {
    /// Address of the editor, without a fragment.
    pub address: String,
    /// The browser's program; found by itself without.
    pub browser: Option<PathBuf>,
    /// Folder of the browser's profile, which holds the sign-in; a lasting place without.
    pub profile: Option<PathBuf>,
    /// Without a window that a person sees.
    pub headless: bool,
    /// Whether the browser shuts its pages in.
    pub sandbox: Sandbox,
}

impl Default for EditorSettings {
    fn default() -> EditorSettings {
        EditorSettings {
            address: ADDRESS.to_owned(),
            browser: None,
            profile: None,
            headless: false,
            sandbox: Sandbox::UnlessRoot,
        }
    }
}

impl EditorSettings {
    /// The profile's folder; `None` when nothing is set and the environment names no home.
    #[must_use]
    pub fn profile_folder(&self) -> Option<PathBuf> {
        let lasting = || lasting_folder(System::here(), &|name| std::env::var_os(name));
        self.profile.clone().or_else(|| lasting().map(|f| f.join("editor")))
    }

    /// The full address of a project, or of a document in it. Only a full load honours it.
    #[must_use]
    pub fn address_of(&self, project: &str, document: Option<&str>) -> String {
        let base = self.address.split('#').next().unwrap_or("");
        match document {
            Some(document) => format!("{base}#id={project},tab=*{document}@{project}"),
            None => format!("{base}#id={project}"),
        }
    }

    /// Whether an address is one of the editor.
    #[must_use]
    pub fn is_editor(&self, address: &str) -> bool {
        let plain =
            |a: &str| a.split(['#', '?']).next().unwrap_or("").trim_end_matches('/').to_owned();
        plain(address) == plain(&self.address)
    }
}

/// The project that an address of the editor names.
#[must_use]
pub fn project_in(address: &str) -> Option<&str> {
    let (_, fragment) = address.split_once('#')?;
    fragment.split(',').find_map(|part| part.strip_prefix("id=")).filter(|id| !id.is_empty())
}

/// Marks of the page by selector. Their wording is never looked at: it is not known for sure.
pub(crate) fn marks() -> Value {
    json!({
        "login": "#login-btn",
        "banner": ".lock-banner[role=alert]",
        "window": ".arco-modal",
        "loading": "#loading",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let settings = EditorSettings::default();
        let full = settings.address_of("abc", Some("def"));
        assert_eq!(full, "https://pro.easyeda.com/editor#id=abc,tab=*def@abc");
        assert!(
            settings.is_editor(&full) && settings.is_editor("https://pro.easyeda.com/editor?x=1")
        );
        assert!(!settings.is_editor("https://pro.easyeda.com/editors"));
        assert_eq!(project_in(&full), Some("abc"));
        assert_eq!(project_in("https://pro.easyeda.com/editor#id="), None);
    }
}
