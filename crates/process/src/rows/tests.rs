use super::{ROWS, actions, probes};

#[test]
fn the_family_keeps_the_rules() {
    assert_eq!(
        pcbflow_humanize::lint_family(ROWS, actions::ALL, probes::ALL),
        Vec::<String>::new()
    );
}
