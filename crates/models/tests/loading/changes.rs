//! Files that somebody writes to while a model is loaded.

use crate::remade::{File, device};
use std::{fs, path::Path};
use warpsmith_formats::{Error as Format, gguf::Gguf};
use warpsmith_models::{
    Error,
    llama::{Config, Model, Source},
};

/// Opens the model at `path`, changes its file, and loads what was opened.
fn check(path: &Path, change: impl FnOnce(&fs::File, u64)) -> Error {
    let sound = fs::read(path).expect("a file");
    let source = Source::open(path).expect("a sound file");
    let Source::Gguf(gguf) = &source else {
        panic!("GGUF");
    };
    let config = Config::from_gguf(gguf.metadata(), true).expect("a configuration");
    let file = fs::File::options().write(true).open(path).expect("a file");
    change(&file, sound.len() as u64);
    let error = Model::load(&device(), &source, config, None, &mut |_, _| {}).expect_err("changed");
    fs::write(path, sound).expect("as it was");
    error
}

#[test]
fn a_file_that_is_shortened_after_it_was_opened_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gguf");
    fs::write(&path, File::of("tiny-llama3").to_bytes()).expect("a file");
    for left in [0.0, 0.3, 0.7, 0.99] {
        let mut len = 0;
        let error = check(&path, |file, whole| {
            len = (whole as f64 * left) as u64;
            file.set_len(len).expect("shortened");
        });
        let Error::Format(Format::Shortened {
            path: named, found, ..
        }) = &error
        else {
            panic!("{error}");
        };
        assert_eq!((named, *found), (&path, len));
    }
    // While the header is read, too.
    let whole = fs::metadata(&path).expect("a file").len();
    let file = fs::File::options().write(true).open(&path).expect("a file");
    file.set_len(whole / 2).expect("shortened");
    let error = Gguf::open(&path).expect_err("a tensor outside").to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
}

#[test]
fn a_file_that_is_written_to_after_it_was_opened_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gguf");
    fs::write(&path, File::of("tiny-llama3").to_bytes()).expect("a file");
    let longer = check(&path, |file, whole| {
        file.set_len(whole + 1).expect("longer")
    });
    let touched = check(&path, |file, _| {
        let hour = std::time::Duration::from_secs(3600);
        let then = std::time::SystemTime::now() + hour;
        file.set_modified(then).expect("another time");
    });
    for error in [longer, touched] {
        let named =
            matches!(&error, Error::Format(Format::Changed { path: named }) if *named == path);
        assert!(named, "{error}");
    }
}
