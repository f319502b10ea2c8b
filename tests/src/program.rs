//! Where the programs are: pcbflow itself, built once, and the small programs of this package.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Variable that names a pcbflow to test instead of one that is built here.
pub const BIN_VARIABLE: &str = "PCBFLOW_TEST_BIN";

/// The folder of this build's programs.
fn build_dir() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    // target/<profile>/deps/<test>
    let dir = test.parent().and_then(Path::parent).expect("a test lies in deps");
    dir.to_owned()
}

/// A small program of this package.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn own(name: &str) -> PathBuf {
    let path = build_dir().join(name);
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

/// pcbflow as the other suites run it.
#[must_use]
pub fn pcbflow() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| given().unwrap_or_else(|| build(&[], "debug"))).clone()
}

/// pcbflow as it is released: what the kills are aimed at.
#[must_use]
pub fn pcbflow_release() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| given().unwrap_or_else(|| build(&["--release"], "release"))).clone()
}

fn given() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(BIN_VARIABLE)?);
    Some(std::fs::canonicalize(&path).unwrap_or(path))
}

/// The folder of this package's workspace.
#[must_use]
pub fn source_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the package lies in a workspace").to_owned()
}

fn build(more: &[&str], profile: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = build_dir().parent().expect("the target folder").to_owned();
    let status = Command::new(cargo)
        .args(["build", "--locked", "--quiet", "--package", "pcbflow-cli", "--bin", "pcbflow"])
        .args(more)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(source_root())
        .status()
        .expect("cargo");
    assert!(status.success(), "pcbflow could not be built");
    target.join(profile).join("pcbflow")
}
