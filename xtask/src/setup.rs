//! `cargo xtask setup`: puts the tools on the machine, once, and says where they are.

use crate::run::{self, Ended, Place};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The KiCad versions that the tests want; the first is the one that plain `kicad-cli` means.
const MAJORS: [u32; 2] = [9, 10];
/// Where `scripts/install-kicad` puts things unless told otherwise.
const SYSTEM_PREFIX: &str = "/opt/kicad-cli";
/// Where mount, losetup and mkfs lie; not on every user's PATH.
const ADMIN_DIRS: [&str; 2] = ["/usr/sbin", "/sbin"];
const INSTALL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// A program that the tasks need from the system.
struct Need {
    program: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    /// What does not work without it; nothing at all if `None`.
    only_for: Option<&'static str>,
}

const NEEDS: &[Need] = &[
    Need { program: "git", package: "git", only_for: None },
    Need {
        program: "unshare",
        package: "util-linux",
        only_for: Some("tests and scenes with a small disk of their own"),
    },
    Need {
        program: "mount",
        package: "mount",
        only_for: Some("tests and scenes with a small disk of their own"),
    },
    Need {
        program: "faketime",
        package: "faketime",
        only_for: Some("a test with a clock that jumps back"),
    },
    Need {
        program: "mkfs.ext4",
        package: "e2fsprogs",
        only_for: Some("tests with a small disk of their own"),
    },
    Need {
        program: "ngspice",
        package: "ngspice",
        only_for: Some("the part of an example that runs the real simulator"),
    },
    Need {
        program: "chromium",
        package: "chromium",
        only_for: Some("tests of the browser, unless Chrome is here"),
    },
];

/// Where the tools are.
#[derive(Debug, Default)]
pub struct Tools {
    /// Folders that come first on PATH.
    pub bin_dirs: Vec<PathBuf>,
    /// The versions found, the preferred first.
    pub kicad: Vec<KiCad>,
}

/// One KiCad.
#[derive(Debug)]
pub struct KiCad {
    pub major: u32,
    pub cli: PathBuf,
    /// KiCad's own demo projects.
    pub demos: Option<PathBuf>,
}

impl Tools {
    /// PATH with the tools on it.
    pub fn path(&self) -> OsString {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let old: Vec<PathBuf> = std::env::split_paths(&old).collect();
        let mut dirs: Vec<PathBuf> = Vec::new();
        let admin = ADMIN_DIRS.iter().map(PathBuf::from).filter(|dir| dir.is_dir());
        for dir in self.bin_dirs.iter().cloned().chain(old).chain(admin) {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        // Only a folder with a separator in its name fails here; such a PATH did not come from the system.
        std::env::join_paths(dirs).unwrap_or_default()
    }

    /// The variables of every suite: PATH, and the demo projects as `PCBFLOW_TEST_DEMOS_9`, `..._10`.
    pub fn variables(&self) -> Vec<(String, Option<OsString>)> {
        let mut list = vec![("PATH".to_owned(), Some(self.path()))];
        for kicad in &self.kicad {
            if let Some(demos) = &kicad.demos {
                list.push((format!("PCBFLOW_TEST_DEMOS_{}", kicad.major), Some(demos.into())));
            }
        }
        list
    }
}

/// Installs what is missing. Quick if all is there.
pub fn setup() -> Result<Tools, String> {
    let root = run::root()?;
    let mut tools = Tools::default();
    let apt = found(&tools, "apt-get");
    let rights = Rights::of_this_user();
    system_packages(&tools, apt, &rights)?;
    if apt {
        install_kicad(&root, &rights, &mut tools);
    }
    tools.kicad = look_for_kicad(&tools);
    report(&tools, apt)?;
    Ok(tools)
}

fn found(tools: &Tools, program: &str) -> bool {
    run::find_in(&tools.path(), program).is_some()
}

/// What this user may do to the system.
enum Rights {
    Root,
    /// `sudo` works without asking.
    Sudo,
    Ordinary,
}

impl Rights {
    fn of_this_user() -> Rights {
        let quiet = |argv: &[&str]| {
            let mut command = std::process::Command::new(argv[0]);
            command.args(&argv[1..]).stdin(std::process::Stdio::null());
            command.output().ok().filter(|output| output.status.success())
        };
        match quiet(&["id", "-u"]) {
            Some(output) if output.stdout.trim_ascii() == b"0" => Rights::Root,
            _ if quiet(&["sudo", "-n", "true"]).is_some() => Rights::Sudo,
            _ => Rights::Ordinary,
        }
    }
}

/// Installs the packages of missing programs, or says what is missing.
fn system_packages(tools: &Tools, apt: bool, rights: &Rights) -> Result<(), String> {
    let missing = || NEEDS.iter().filter(|need| !found(tools, need.program));
    let mut packages: Vec<&str> = missing().map(|need| need.package).collect();
    if apt && ubuntu_needs_debian() {
        packages.extend(["debootstrap", "debian-archive-keyring"]);
    }
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let before: &[&str] = match rights {
        Rights::Root => &["env"],
        Rights::Sudo => &["sudo", "-n", "env"],
        Rights::Ordinary => &[],
    };
    if apt && !before.is_empty() {
        let place =
            Place { folder: PathBuf::from("/"), env: vec![("PATH".into(), Some(tools.path()))] };
        let update = [before, &["apt-get", "-qq", "update"]].concat();
        let noninteractive = ["DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"];
        let install =
            [before, &noninteractive, &["--no-install-recommends", "install"], &packages].concat();
        for argv in [update, install] {
            println!("$ {}", run::shown(&argv));
            let ended = place.run(&argv, INSTALL_LIMIT);
            if ended != Ended::Exit(0) {
                println!("setup: `{}`: {ended}", run::shown(&argv));
            }
        }
    }
    for need in missing() {
        let how = match apt {
            true => format!("install it with: sudo apt-get install {}", need.package),
            false => "install it with this system's package manager".to_owned(),
        };
        match need.only_for {
            None => return Err(format!("`{}` is missing; {how}", need.program)),
            Some(what) => {
                println!("setup: `{}` is missing, needed for {what}; {how}", need.program)
            }
        }
    }
    Ok(())
}

/// Ubuntu's own KiCad is often too old, so it comes from Debian there too; Debian's address and keys are in two
/// packages.
fn ubuntu_needs_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let there = Path::new("/usr/sbin/debootstrap").exists()
        && Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists();
    is_ubuntu(&release)
        && !there
        && !MAJORS.iter().all(|major| stamp(SYSTEM_PREFIX.as_ref(), *major))
}

/// Reads `/etc/os-release`.
fn is_ubuntu(release: &str) -> bool {
    release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .any(|value| value.trim_matches('"').split(' ').any(|id| id == "ubuntu"))
}

fn stamp(prefix: &Path, major: u32) -> bool {
    prefix.join(major.to_string()).join("stamp").is_file()
}

/// Where `scripts/install-kicad` shall put things: (prefix, folder for the links); `None` = its own defaults.
type Target = Option<(PathBuf, PathBuf)>;

/// The places to try, in order.
fn targets(
    rights: &Rights,
    chosen: bool,
    system_has_it: bool,
    data: Option<PathBuf>,
) -> Vec<Target> {
    let own = data.map(|data| {
        let prefix = data.join("pcbflow/kicad-cli");
        (prefix.clone(), prefix.join("bin"))
    });
    match rights {
        // KICAD_PREFIX or KICAD_BINDIR is set: the script reads them itself.
        _ if chosen => vec![None],
        Rights::Root => vec![None],
        _ if system_has_it => vec![None, own],
        _ => vec![own],
    }
}

fn install_kicad(root: &Path, rights: &Rights, tools: &mut Tools) {
    let chosen =
        ["KICAD_PREFIX", "KICAD_BINDIR"].iter().any(|name| std::env::var_os(name).is_some());
    let system_has_it = MAJORS.iter().all(|major| stamp(SYSTEM_PREFIX.as_ref(), *major));
    for target in targets(rights, chosen, system_has_it, user_data()) {
        let mut place =
            Place { folder: root.to_owned(), env: vec![("PATH".into(), Some(tools.path()))] };
        let bin = match &target {
            Some((prefix, bin)) => {
                place.env.push(("KICAD_PREFIX".into(), Some(prefix.into())));
                place.env.push(("KICAD_BINDIR".into(), Some(bin.into())));
                Some(bin.clone())
            }
            None => std::env::var_os("KICAD_BINDIR").map(PathBuf::from),
        };
        let majors: Vec<String> = MAJORS.iter().map(u32::to_string).collect();
        let mut argv = vec!["scripts/install-kicad", "--demos"];
        argv.extend(majors.iter().map(String::as_str));
        println!("$ {}", run::shown(&argv));
        argv.insert(0, "bash");
        let ended = place.run(&argv, INSTALL_LIMIT);
        if ended == Ended::Exit(0) {
            tools.bin_dirs.extend(bin);
            return;
        }
        println!("setup: scripts/install-kicad: {ended}");
    }
}

/// The folder for a user's programs' data.
fn user_data() -> Option<PathBuf> {
    std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")))
}

/// Looks for each wanted version, then for any kicad-cli at all.
fn look_for_kicad(tools: &Tools) -> Vec<KiCad> {
    let path = tools.path();
    let mut list: Vec<KiCad> = Vec::new();
    let names = MAJORS.iter().map(|major| format!("kicad-cli-{major}"));
    let mac = PathBuf::from("/Applications/KiCad/KiCad.app/Contents/MacOS/kicad-cli");
    let candidates = names
        .chain(["kicad-cli".to_owned()])
        .filter_map(|name| run::find_in(&path, &name))
        .chain(Some(mac).filter(|file| run::is_executable(file)));
    for cli in candidates {
        if let Some(major) = major_of(&cli)
            && !list.iter().any(|known| known.major == major)
        {
            let demos = demos_of(&cli);
            list.push(KiCad { major, cli, demos });
        }
    }
    list
}

fn major_of(cli: &Path) -> Option<u32> {
    let output = std::process::Command::new(cli).arg("version").output().ok()?;
    major_in(&String::from_utf8_lossy(&output.stdout))
}

fn major_in(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

/// The demo projects of the KiCad that a program belongs to.
fn demos_of(cli: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(cli).ok()?;
    let home = real.parent()?;
    [
        home.join("root/usr/share/kicad/demos"),
        home.join("../share/kicad/demos"),
        home.join("../SharedSupport/demos"),
    ]
    .into_iter()
    .find(|folder| folder.is_dir())
}

/// Says what was found and what is missing; an error if there is no KiCad at all.
fn report(tools: &Tools, apt: bool) -> Result<(), String> {
    const WHERE: &str = "get it from https://www.kicad.org/download/ and put kicad-cli on PATH";
    if tools.kicad.is_empty() {
        return Err(format!("kicad-cli is missing (KiCad 9 or newer); {WHERE}"));
    }
    for kicad in &tools.kicad {
        let demos = match &kicad.demos {
            Some(folder) => format!("demos in {}", folder.display()),
            None => "without its demo projects (Debian: package kicad-demos)".to_owned(),
        };
        println!("setup: KiCad {}: {}, {demos}", kicad.major, kicad.cli.display());
    }
    for major in MAJORS {
        if !tools.kicad.iter().any(|kicad| kicad.major == major) {
            let why = if apt {
                "could not be installed"
            } else {
                "is missing, and this system has no apt"
            };
            println!("setup: KiCad {major} {why}; what needs it will say so; {WHERE}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_installs_for_all_and_others_for_themselves() {
        let data = || Some(PathBuf::from("/home/a/.local/share"));
        let own: Target = Some((
            "/home/a/.local/share/pcbflow/kicad-cli".into(),
            "/home/a/.local/share/pcbflow/kicad-cli/bin".into(),
        ));
        assert_eq!(targets(&Rights::Root, false, false, data()), [None]);
        assert_eq!(targets(&Rights::Ordinary, false, false, data()), vec![own.clone()]);
        assert_eq!(targets(&Rights::Ordinary, false, true, data()), [None, own.clone()]);
        assert_eq!(targets(&Rights::Sudo, false, false, data()), [own]);
        assert_eq!(targets(&Rights::Ordinary, true, false, data()), [None]);
    }

    #[test]
    fn versions_and_systems_are_read() {
        assert_eq!(major_in("9.0.8\n"), Some(9));
        assert_eq!(major_in("10.0.6-rc1"), Some(10));
        assert_eq!(major_in("kicad-cli: not found"), None);
        assert!(is_ubuntu("NAME=x\nID=ubuntu\n"));
        assert!(is_ubuntu("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_ubuntu("ID=debian\nHOME_URL=\"ubuntu\"\n"));
    }

    #[test]
    fn the_demos_lie_beside_the_program_that_a_link_leads_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("its real name").join("9");
        let demos = home.join("root/usr/share/kicad/demos");
        std::fs::create_dir_all(&demos).expect("folders");
        std::fs::write(home.join("kicad-cli"), "").expect("a program");
        let link = folder.path().join("kicad-cli-9");
        std::os::unix::fs::symlink(home.join("kicad-cli"), &link).expect("a link");
        assert_eq!(demos_of(&link), Some(demos));
    }

    #[test]
    fn variables_name_the_demos_of_each_version() {
        let tools = Tools {
            bin_dirs: vec!["/tools/bin".into()],
            kicad: vec![KiCad {
                major: 9,
                cli: "/tools/bin/kicad-cli-9".into(),
                demos: Some("/tools/demos".into()),
            }],
        };
        let variables = tools.variables();
        assert!(variables.contains(&("PCBFLOW_TEST_DEMOS_9".into(), Some("/tools/demos".into()))));
        let (_, path) = &variables[0];
        let path = path.clone().expect("a path");
        assert_eq!(std::env::split_paths(&path).next(), Some(PathBuf::from("/tools/bin")));
    }

    #[test]
    fn the_scripts_are_valid() {
        let root = run::root().expect("the project");
        for script in ["scripts/install-kicad", ".ci/run"] {
            let ended = Place { folder: root.clone(), env: Vec::new() }
                .run(&["bash", "-n", script], Duration::from_secs(60));
            assert_eq!(ended, Ended::Exit(0), "{script}");
        }
    }
}
