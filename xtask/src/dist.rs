//! `cargo xtask dist`: an archive of the program, its completions and manual pages, with checksums.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use object::read::elf::{ElfFile64, FileHeader};

use crate::error::{Error, Result};
use crate::fetch::{Python, sha256_of};
use crate::house::House;
use crate::run::Run;

/// Where the archive goes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder for the archive and SHA256SUMS [default: target/dist].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const PROGRAM: &str = "warpsmith";
/// The profile, which also names the folder: stripped, without debug information.
const PROFILE: &str = "dist";

/// The C library the program is linked for: that of Debian 11 and Ubuntu 20.04. Newer systems take it as well.
const GLIBC: (u32, u32) = (2, 31);

/// What links for an older C library than this system's, from pip, with the hashes of its wheels for both processors.
/// cargo-zigbuild (MIT) hands rustc a linker, Zig's (MIT), which brings the symbols of every glibc.
const LINKER: &str = "\
cargo-zigbuild==0.24.1 \
 --hash=sha256:238a1ab54a95053a4eadc34775c81f795a8ad75f80bfed63f3f445f518102375 \
 --hash=sha256:07c5e3dcddf208500462ec927c556bb306cca2b533b0abe29446bffb63767b85
ziglang==0.17.1 \
 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54 \
 --hash=sha256:b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e
";

/// Files of the workspace that travel with the program.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// A shell and the name that it looks for.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "warpsmith.bash"),
    ("zsh", "_warpsmith"),
    ("fish", "warpsmith.fish"),
    ("powershell", "_warpsmith.ps1"),
];

/// Builds, checks what the program needs, fills a folder, packs it, unpacks it again and starts what came out.
pub(crate) fn dist(house: &House, args: &Args) -> Result<()> {
    let program = build(house)?;
    let needed = newest_glibc(&program)?;
    if needed > GLIBC {
        let what = format!(
            "{} needs glibc {}.{}, expected at most {}.{}",
            program.display(),
            needed.0,
            needed.1,
            GLIBC.0,
            GLIBC.1
        );
        return Err(Error::Unsupported { what });
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => house.target()?.join("dist-archive"),
    };
    fs::create_dir_all(&out).map_err(Error::io(&out))?;
    let name = format!(
        "{PROGRAM}-{}-{}-linux",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH
    );
    let folder = out.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    }
    fill(house, &program, &folder)?;
    let archive = out.join(format!("{name}.tar.gz"));
    pack(&folder, &name, &archive)?;
    let sums = out.join("SHA256SUMS");
    let line = format!("{}  {name}.tar.gz\n", sha256_of(&archive)?);
    fs::write(&sums, line).map_err(Error::io(&sums))?;
    try_out(&archive, &name, &out.join("tried"))?;
    for path in [&program, &archive] {
        let bytes = fs::metadata(path).map_err(Error::io(path))?.len();
        println!("{}: {:.1} MiB", path.display(), bytes as f64 / 1048576.0);
    }
    println!(
        "{}: glibc {}.{} or newer",
        sums.display(),
        needed.0,
        needed.1
    );
    Ok(())
}

fn build(house: &House) -> Result<PathBuf> {
    if std::env::consts::OS != "linux" {
        let what = format!(
            "archives for {}; they are made on Linux",
            std::env::consts::OS
        );
        return Err(Error::Unsupported { what });
    }
    let tools = linker(house)?;
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    Run::new(tools.join("bin").join("cargo-zigbuild"))
        .args(["zigbuild", "--profile", PROFILE, "--package", PROGRAM])
        .args(["--bin", PROGRAM, "--target"])
        .arg(format!("{host}.{}.{}", GLIBC.0, GLIBC.1))
        .env("CARGO_ZIGBUILD_ZIG_PATH", tools.join("ziglang").join("zig"))
        .current_dir(house.root())
        .show()?;
    Ok(house.target()?.join(host).join(PROFILE).join(PROGRAM))
}

/// The folder with the linker, downloaded if it is not there.
pub(crate) fn linker(house: &House) -> Result<PathBuf> {
    let folder = house.tools().join("zigbuild");
    let pins = folder.join("pins.txt");
    if fs::read_to_string(&pins).is_ok_and(|found| found == LINKER) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let wanted = folder.join("wanted.txt");
    fs::write(&wanted, LINKER).map_err(Error::io(&wanted))?;
    Python::find(house)?
        .pip()
        .args(["install", "--quiet", "--no-deps", "--only-binary", ":all:"])
        .args([
            "--root-user-action",
            "ignore",
            "--require-hashes",
            "--target",
        ])
        .arg(&folder)
        .arg("--requirement")
        .arg(&wanted)
        .show()?;
    // Last, so that a folder with it is whole.
    fs::rename(&wanted, &pins).map_err(Error::io(&pins))?;
    Ok(folder)
}

/// The newest version of glibc of which the program needs a symbol.
fn newest_glibc(program: &Path) -> Result<(u32, u32)> {
    let data = fs::read(program).map_err(Error::io(program))?;
    let wrong = |found: String| Error::Output {
        command: program.display().to_string(),
        expected: "an ELF file with versions of symbols",
        found,
    };
    let versions = needed_versions(&data).map_err(|error| wrong(error.to_string()))?;
    let glibc = versions.iter().filter_map(|name| {
        let (major, rest) = name.strip_prefix("GLIBC_")?.split_once('.')?;
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    glibc
        .max()
        .ok_or_else(|| wrong("no symbol of glibc".to_owned()))
}

fn needed_versions(data: &[u8]) -> object::read::Result<Vec<String>> {
    let file = ElfFile64::<object::Endianness>::parse(data)?;
    let (header, endian) = (file.elf_header(), file.endian());
    let sections = header.sections(endian, data)?;
    let mut names = Vec::new();
    let Some((mut needed, link)) = sections.gnu_verneed(endian, data)? else {
        return Ok(names);
    };
    let strings = sections.strings(endian, data, link)?;
    while let Some((_, mut entries)) = needed.next()? {
        while let Some(entry) = entries.next()? {
            let name = entry.name(endian, strings)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

/// The program, what it says about itself for shells and `man`, and the texts.
fn fill(house: &House, program: &Path, folder: &Path) -> Result<()> {
    let (man, completions) = (folder.join("man").join("man1"), folder.join("completions"));
    fs::create_dir_all(&man).map_err(Error::io(&man))?;
    fs::create_dir_all(&completions).map_err(Error::io(&completions))?;
    let copy = |from: &Path, name: &str| {
        let to = folder.join(name);
        fs::copy(from, &to).map(drop).map_err(Error::io(&to))
    };
    copy(program, PROGRAM)?;
    for name in FILES {
        copy(&house.root().join(name), name)?;
    }
    Run::new(program).args(["man", "--out"]).arg(&man).show()?;
    for (shell, name) in SHELLS {
        let text = Run::new(program).args(["completions", shell]).read()?;
        let to = completions.join(name);
        fs::write(&to, text).map_err(Error::io(&to))?;
    }
    Ok(())
}

/// Packs a folder; the same files give the same bytes.
fn pack(folder: &Path, name: &str, archive: &Path) -> Result<()> {
    let file = File::create(archive).map_err(Error::io(archive))?;
    let gzip = GzEncoder::new(BufWriter::new(file), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    tar.mode(tar::HeaderMode::Deterministic);
    let mut files = Vec::new();
    list(folder, Path::new(name), &mut files)?;
    for (path, inside) in files {
        tar.append_path_with_name(&path, &inside)
            .map_err(Error::io(&path))?;
    }
    tar.into_inner()
        .and_then(GzEncoder::finish)
        .and_then(|mut file| file.flush())
        .map_err(Error::io(archive))
}

/// All files below a folder in the order of their names, with their paths in the archive.
fn list(folder: &Path, inside: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        entries.push(entry.map_err(Error::io(folder))?.path());
    }
    entries.sort();
    for path in entries {
        let inside = inside.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            list(&path, &inside, files)?;
        } else {
            files.push((path, inside));
        }
    }
    Ok(())
}

/// Unpacks the archive and asks the program in it what it is and what there is to run on.
fn try_out(archive: &Path, name: &str, scratch: &Path) -> Result<()> {
    let file = File::open(archive).map_err(Error::io(archive))?;
    tar::Archive::new(flate2::read::GzDecoder::new(file))
        .unpack(scratch)
        .map_err(Error::io(scratch))?;
    let program = scratch.join(name).join(PROGRAM);
    for argument in ["--version", "devices"] {
        print!("{}", Run::new(&program).arg(argument).read()?);
    }
    fs::remove_dir_all(scratch).map_err(Error::io(scratch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_a_program_needs_are_read_from_it() {
        let this = std::env::current_exe().expect("the program of this test");
        let newest = newest_glibc(&this).expect("it is linked to glibc");
        assert!(((2, 2)..(3, 0)).contains(&newest), "{newest:?}");
        let text = tempfile::NamedTempFile::new().expect("a scratch file");
        assert!(matches!(
            newest_glibc(text.path()),
            Err(Error::Output { .. })
        ));
    }

    #[test]
    fn a_packed_folder_has_each_file_and_the_same_bytes_each_time() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("x");
        fs::create_dir_all(folder.join("man")).expect("folders");
        for (name, text) in [("b", "two"), ("a", "one"), ("man/c.1", "three")] {
            fs::write(folder.join(name), text).expect("a file");
        }
        let [one, two] = ["one", "two"].map(|name| {
            let archive = scratch.path().join(name);
            pack(&folder, "x", &archive).expect("it packs");
            fs::read(archive).expect("an archive")
        });
        assert_eq!(one, two);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&one[..]));
        let paths: Vec<String> = archive
            .entries()
            .expect("entries")
            .map(|entry| {
                let entry = entry.expect("an entry");
                entry.path().expect("a path").display().to_string()
            })
            .collect();
        assert_eq!(paths, ["x/a", "x/b", "x/man/c.1"]);
    }
}
