//! Split files: all parts found and checked, or refused by name.

use std::path::{Path, PathBuf};

use crate::bytes_of;
use warpsmith_formats::Error;
use warpsmith_formats::gguf::{Gguf, Value, Writer};
use warpsmith_formats::quant::{WeightType, random_blocks};

fn path(folder: &Path, part: u16) -> PathBuf {
    folder.join(format!("m-{:05}-of-00003.gguf", part + 1))
}

struct Part {
    number: u16,
    count: u16,
    tensors: i32,
    name: &'static str,
}

fn part(number: u16) -> Part {
    Part {
        number,
        count: 3,
        tensors: 3,
        name: ["a", "b", "c"][usize::from(number)],
    }
}

fn write(folder: &Path, at: u16, part: Part) {
    let mut writer = Writer::new();
    if at == 0 {
        writer.set("general.architecture", Value::from("llama"));
    }
    writer.set("split.no", Value::U16(part.number));
    writer.set("split.count", Value::U16(part.count));
    writer.set("split.tensors.count", Value::I32(part.tensors));
    let data = random_blocks(WeightType::Q8_0, u64::from(at), 4);
    writer.add(part.name, &[64, 2], WeightType::Q8_0, data);
    std::fs::write(path(folder, at), writer.to_bytes().expect("sound")).expect("written");
}

fn three() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..3 {
        write(folder.path(), number, part(number));
    }
    folder
}

/// The innermost error, and whether the message names the file that it is about.
fn refused(folder: &Path, open: u16, about: u16) -> Error {
    match Gguf::open(&path(folder, open)).expect_err("refused") {
        Error::InFile { path: named, error } => {
            assert_eq!(named, path(folder, about));
            *error
        }
        other => other,
    }
}

#[test]
fn opening_the_first_part_finds_the_others() {
    let folder = three();
    let file = Gguf::open(&path(folder.path(), 0)).expect("sound");
    assert_eq!(
        file.metadata().str("general.architecture").ok(),
        Some("llama")
    );
    assert_eq!(file.tensors().len(), 3);
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let tensor = file.tensor(name).expect("there");
        assert_eq!(tensor.part, i);
        assert!(
            bytes_of(|out| file.read(tensor, out)) == random_blocks(WeightType::Q8_0, i as u64, 4)
        );
    }
}

#[test]
fn a_part_that_is_not_the_first_is_refused() {
    let folder = three();
    let error = refused(folder.path(), 1, 1);
    assert!(
        matches!(
            error,
            Error::SplitPart {
                number: 2,
                count: 3
            }
        ),
        "{error}"
    );
    let bytes = std::fs::read(path(folder.path(), 0)).expect("there");
    let error = Gguf::parse(bytes).expect_err("a part alone");
    assert!(
        matches!(
            error,
            Error::SplitPart {
                number: 1,
                count: 3
            }
        ),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_part_that_is_a_link_to_nothing_is_named() {
    for at in 0..3 {
        let folder = three();
        let part = path(folder.path(), at);
        std::fs::remove_file(&part).expect("removed");
        std::os::unix::fs::symlink("nothing", &part).expect("a link");
        let error = Gguf::open(&path(folder.path(), 0)).expect_err("no part");
        let named = matches!(
            &error,
            Error::DanglingLink { path, target } if *path == part && target.ends_with("nothing")
        );
        assert!(named, "{error}");
    }
}

#[test]
fn a_missing_part_is_named() {
    let folder = three();
    std::fs::remove_file(path(folder.path(), 1)).expect("there");
    let error = refused(folder.path(), 0, 1);
    assert!(
        matches!(&error, Error::Io { path: p, .. } if *p == path(folder.path(), 1)),
        "{error}"
    );
}

#[test]
fn parts_that_disagree_are_refused() {
    let folder = three();
    write(
        folder.path(),
        2,
        Part {
            number: 1,
            ..part(2)
        },
    );
    let error = refused(folder.path(), 0, 2);
    let Error::SplitMismatch { key, want, found } = error else {
        panic!("{error}")
    };
    assert_eq!((key, want, found), ("split.no", 2, 1));

    write(
        folder.path(),
        2,
        Part {
            count: 4,
            ..part(2)
        },
    );
    let error = refused(folder.path(), 0, 2);
    let Error::SplitMismatch { key, want, found } = error else {
        panic!("{error}")
    };
    assert_eq!((key, want, found), ("split.count", 3, 4));

    write(
        folder.path(),
        2,
        Part {
            name: "a",
            ..part(2)
        },
    );
    let error = refused(folder.path(), 0, 0);
    assert!(
        matches!(&error, Error::DuplicateTensor { tensor } if tensor == "a"),
        "{error}"
    );

    write(folder.path(), 2, part(2));
    write(
        folder.path(),
        0,
        Part {
            tensors: 4,
            ..part(0)
        },
    );
    let error = refused(folder.path(), 0, 0);
    let Error::SplitMismatch { key, want, found } = error else {
        panic!("{error}")
    };
    assert_eq!((key, want, found), ("split.tensors.count", 4, 3));
}

#[test]
fn a_first_part_under_another_name_is_refused() {
    let folder = three();
    let renamed = folder.path().join("model.gguf");
    std::fs::rename(path(folder.path(), 0), &renamed).expect("there");
    let error = Gguf::open(&renamed).expect_err("refused");
    assert!(
        matches!(&error, Error::SplitName { suffix, .. } if suffix == "-00001-of-00003.gguf"),
        "{error}"
    );
}

#[test]
fn folders_and_absent_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(
        Gguf::open(folder.path()),
        Err(Error::NotAFile { .. })
    ));
    assert!(matches!(
        Gguf::open(&folder.path().join("none")),
        Err(Error::Io { .. })
    ));
    let empty = folder.path().join("empty.gguf");
    std::fs::write(&empty, []).expect("written");
    let error = Gguf::open(&empty).expect_err("empty").to_string();
    assert_eq!(
        error,
        format!(
            "{}: expected the magic bytes \"GGUF\", found []",
            empty.display()
        )
    );
}
