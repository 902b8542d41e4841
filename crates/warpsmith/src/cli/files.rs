//! The files of a command: none that it writes is one that it reads or writes besides, and each is there whole or not at all.

use super::{interrupt, output::printable};
use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};
use tempfile::{Builder, NamedTempFile};
use warpsmith::formats::input::{Kind, patiently};

/// What a command reads and writes.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: Vec<Known>,
}

/// A file that has its use.
#[derive(Debug)]
struct Known {
    /// What named it, as in `--out`.
    what: String,
    path: PathBuf,
    place: Place,
    use_: Use,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

/// Which file it is, whatever its name.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Its numbers: of its device and in it.
    Numbers([u64; 2]),
    /// Where it is, or will be, links followed.
    Path(PathBuf),
}

/// Files beside a model's weights that belong to it.
const OF_MODELS: [&str; 12] = [
    "added_tokens.json",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "preprocessor_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocabulary.json",
    "vocabulary.txt",
];

/// Whether a file in the folder of a model may hold weights of it.
fn holds_weights(model: &Path, name: &str) -> bool {
    let is = |end: &str| name.ends_with(end);
    let parts = is(".safetensors") || is(".index.json");
    if model.is_dir() {
        let named = ["ggml", "model", "pytorch_model"];
        let binary = is(".bin") && named.iter().any(|begin| name.starts_with(begin));
        return parts || is(".gguf") || binary;
    }
    let model = model.to_string_lossy();
    let split = |name: &str| name.ends_with(".gguf") && name.contains("-of-");
    let listed = model.ends_with(".safetensors") || model.ends_with(".json");
    (split(&model) && split(name)) || (listed && parts)
}

impl Files {
    /// `what` names a file that is read; one that is missing is for whoever opens it to tell.
    ///
    /// # Errors
    /// A file that is written.
    pub(crate) fn reads(&mut self, what: &str, path: &Path) -> Result<()> {
        if let Ok(place) = Place::of(path) {
            self.know(what, path, place, Use::Read)?;
        }
        Ok(())
    }

    /// `what` names a model: a file or a folder, with what belongs to it.
    ///
    /// # Errors
    /// A file of it that is written.
    pub(crate) fn reads_model(&mut self, what: &str, path: &Path) -> Result<()> {
        self.reads(what, path)?;
        let folder = match path.is_dir() {
            true => path,
            false => folder(path),
        };
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if holds_weights(path, &name) || OF_MODELS.contains(&&*name) {
                self.reads(what, &entry.path())?;
            }
        }
        Ok(())
    }

    /// `what` names a file that is written.
    ///
    /// # Errors
    /// A file that is read, or written besides; a folder; what cannot be written.
    pub(crate) fn writes(&mut self, what: &str, path: &Path) -> Result<Target> {
        let place = Place::of(path).with_context(|| cannot_write(path))?;
        self.know(what, path, place, Use::Written)?;
        Target::at(path).with_context(|| cannot_write(path))
    }

    /// A draft of the file that `what` names, if it names one.
    ///
    /// # Errors
    /// As [`Files::writes`].
    pub(crate) fn draft(&mut self, what: &str, path: Option<&Path>) -> Result<Option<Draft>> {
        let Some(path) = path else { return Ok(None) };
        self.writes(what, path)?.draft().map(Some)
    }

    fn know(&mut self, what: &str, path: &Path, place: Place, use_: Use) -> Result<()> {
        let among = |known: &&Known| {
            let both_read = known.use_ == Use::Read && use_ == Use::Read;
            !both_read && known.place == place && !is_null(path)
        };
        if let Some(other) = self.known.iter().find(among) {
            let name = |path: &Path| printable(&path.display().to_string());
            let why = match other.use_ == use_ {
                true => "each is written to a file of its own",
                false => "what is read is not written over",
            };
            bail!(
                "{what} {} and {} {} are the same file: {why}",
                name(path),
                other.what,
                name(&other.path)
            );
        }
        self.known.push(Known {
            what: what.to_owned(),
            path: path.to_owned(),
            place,
            use_,
        });
        Ok(())
    }
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        match fs::metadata(path) {
            Ok(found) => Place::there(path, &found),
            Err(_) => resolve(path).map(Place::Path),
        }
    }

    #[cfg(unix)]
    fn there(_: &Path, found: &fs::Metadata) -> io::Result<Place> {
        use std::os::unix::fs::MetadataExt;
        Ok(Place::Numbers([found.dev(), found.ino()]))
    }

    #[cfg(not(unix))]
    fn there(path: &Path, _: &fs::Metadata) -> io::Result<Place> {
        fs::canonicalize(path).map(Place::Path)
    }
}

/// Whether what is written there is nowhere.
fn is_null(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path == Path::new("/dev/null"))
}

/// The folder that a file lies in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Where a file is or will be, links followed, also one to a file that is missing.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many links as systems follow.
    for _ in 0..40 {
        if let Ok(there) = fs::canonicalize(&path) {
            return Ok(there);
        }
        match fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            Err(_) => {
                let name = path
                    .file_name()
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "is no file"))?;
                let folder = fs::canonicalize(folder(&path))?;
                return match folder.is_dir() {
                    true => Ok(folder.join(name)),
                    false => Err(io::ErrorKind::NotADirectory.into()),
                };
            }
        }
    }
    Err(io::Error::other("too many links"))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", printable(&path.display().to_string()))
}

/// Where a file is written.
#[derive(Debug)]
pub(crate) struct Target {
    /// As it was named.
    path: PathBuf,
    way: Way,
}

/// How a file is written.
#[derive(Debug)]
enum Way {
    /// Beside the old one, which it takes the place of at the end.
    Aside(PathBuf),
    /// Into a pipe, a terminal or a device, as it comes.
    Through,
}

impl Target {
    fn at(path: &Path) -> io::Result<Target> {
        let way = match Kind::of(path) {
            Ok(Kind::Folder) => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(Kind::File) if !is_stream(path) => {
                let target = fs::canonicalize(path)?;
                // What may not be changed is not replaced either.
                drop(File::options().write(true).open(&target)?);
                Way::Aside(target)
            }
            Ok(Kind::File | Kind::Pipe | Kind::Socket | Kind::Quiet | Kind::Device) => Way::Through,
            Err(_) => Way::Aside(resolve(path)?),
        };
        Ok(Target {
            path: path.to_owned(),
            way,
        })
    }

    /// What to say where it cannot be written.
    pub(crate) fn cannot_write(&self) -> String {
        cannot_write(&self.path)
    }

    /// Whether it is a pipe, a terminal or a device: what was written there is gone.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.way, Way::Through)
    }

    /// Begins to write it.
    ///
    /// # Errors
    /// A place where nothing can be written.
    pub(crate) fn draft(&self) -> Result<Draft> {
        let to = match &self.way {
            Way::Through => through(&self.path).map(To::Through),
            Way::Aside(target) => aside(target).map(|file| To::Aside {
                removed: interrupt::Removed::new(file.path()),
                file: BufWriter::new(file),
                target: target.clone(),
            }),
        };
        Ok(Draft {
            to: to.with_context(|| cannot_write(&self.path))?,
            path: self.path.clone(),
        })
    }
}

/// Whether a path is a file that is open already.
fn is_stream(path: &Path) -> bool {
    let open = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc/self/fd"];
    open.iter().any(|open| path.starts_with(open))
}

fn through(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    if path == Path::new("/dev/stdout") {
        return Ok(Box::new(io::stdout()));
    }
    if path == Path::new("/dev/stderr") {
        return Ok(Box::new(io::stderr()));
    }
    let open = |path: &Path| File::options().append(true).open(path);
    let file = match Kind::of(path)? {
        Kind::Pipe => patiently(path, "nobody reads from it", open)?,
        Kind::File | Kind::Folder | Kind::Socket | Kind::Quiet | Kind::Device => open(path)?,
    };
    Ok(Box::new(BufWriter::new(file)))
}

/// A new file beside `target`; elsewhere if there is no room for one and `target` can be written over.
fn aside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".warpsmith-");
    readable(&mut builder);
    let made = builder.tempfile_in(folder(target)).or_else(|error| {
        match File::options().write(true).open(target) {
            Ok(_) => builder.tempfile(),
            Err(_) => Err(error),
        }
    })?;
    Ok(made)
}

/// New files can be read by whom the user lets read others.
#[cfg(unix)]
fn readable(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable(_: &mut Builder<'_, '_>) {}

/// The new file is whose the old one was, if that can be.
#[cfg(unix)]
fn as_before(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    let _ = file.set_permissions(old.permissions());
}

#[cfg(not(unix))]
fn as_before(file: &File, old: &fs::Metadata) {
    let _ = file.set_permissions(old.permissions());
}

/// A file being written: it takes its place when it is complete, and leaves nothing if it never is.
pub(crate) struct Draft {
    path: PathBuf,
    to: To,
}

enum To {
    Aside {
        file: BufWriter<NamedTempFile>,
        target: PathBuf,
        removed: interrupt::Removed,
    },
    Through(Box<dyn Write + Send>),
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Aside { file, .. } => file.write(bytes),
            To::Through(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Aside { file, .. } => file.flush(),
            To::Through(file) => file.flush(),
        }
    }
}

impl Draft {
    /// Says of an error that it is about this file.
    pub(crate) fn named<T>(&self, result: io::Result<T>) -> Result<T> {
        result.with_context(|| cannot_write(&self.path))
    }

    /// Puts the file where it belongs; what is still open of it, unless it is a pipe or a device.
    ///
    /// # Errors
    /// What cannot be written.
    pub(crate) fn commit(self) -> Result<Option<File>> {
        let name = cannot_write(&self.path);
        match self.to {
            To::Through(mut file) => file.flush().map(|()| None),
            To::Aside {
                file,
                target,
                removed,
            } => {
                let file = file.into_inner().map_err(|error| error.into_error());
                let put = file.and_then(|file| replace(file, &target)).map(Some);
                drop(removed);
                put
            }
        }
        .context(name)
    }

    /// Writes all of a text and puts it where it belongs.
    ///
    /// # Errors
    /// As [`Draft::commit`].
    pub(crate) fn complete(mut self, text: &str) -> Result<Option<File>> {
        let written = self.write_all(text.as_bytes());
        self.named(written)?;
        self.commit()
    }
}

fn replace(file: NamedTempFile, target: &Path) -> io::Result<File> {
    if let Ok(old) = fs::metadata(target) {
        as_before(file.as_file(), &old);
    }
    match file.persist(target) {
        Ok(file) => Ok(file),
        // A file that cannot change its place, such as one mounted alone, is written over.
        Err(error) => {
            let mut from = error.file;
            from.rewind()?;
            let mut to = File::options().write(true).truncate(true).open(target)?;
            io::copy(&mut from, &mut to)?;
            Ok(to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn named(folder: &TempDir, name: &str) -> PathBuf {
        folder.path().join(name)
    }

    fn old(folder: &TempDir, name: &str) -> PathBuf {
        let path = named(folder, name);
        fs::write(&path, name).expect("written");
        path
    }

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("UTF-8")
        };
        let mut all: Vec<String> = entries.map(name).collect();
        all.sort();
        all
    }

    #[test]
    fn a_draft_replaces_the_old_file_only_when_it_is_complete() {
        let folder = TempDir::new().expect("a folder");
        let path = old(&folder, "old");
        for complete in [false, true] {
            let mut files = Files::default();
            let mut draft = files
                .draft("--out", Some(&path))
                .expect("a draft")
                .expect("one");
            draft.write_all(b"new").expect("written");
            draft.flush().expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), "old");
            match complete {
                true => drop(draft.commit().expect("put")),
                false => drop(draft),
            }
            let now = fs::read_to_string(&path).expect("read");
            assert_eq!(now, if complete { "new" } else { "old" });
            assert_eq!(names(&folder), ["old"]);
        }
    }

    #[test]
    fn what_is_read_or_written_besides_is_not_written() {
        let folder = TempDir::new().expect("a folder");
        let model = old(&folder, "model");
        let hard = named(&folder, "hard");
        fs::hard_link(&model, &hard).expect("a link");
        let fresh = named(&folder, "fresh");
        let around = folder.path().join("sub/../fresh");
        fs::create_dir(named(&folder, "sub")).expect("a folder");
        let mut same = vec![(&model, &model), (&hard, &model), (&fresh, &around)];
        let [soft, dangling] = ["soft", "dangling"].map(|name| named(&folder, name));
        if link(&model, &soft) && link(&fresh, &dangling) {
            same.extend([(&soft, &model), (&dangling, &fresh), (&soft, &hard)]);
        }
        for (a, b) in same {
            let mut files = Files::default();
            files.writes("--out", a).expect("alone it is right");
            let twice = files.writes("--all", b).map(drop);
            let read = files.reads("--model", b);
            let mut files = Files::default();
            files.reads("--model", a).expect("alone it is right");
            let written = files.writes("--out", b).map(drop);
            files.reads("--model", b).expect("may be read twice");
            for refused in [twice, read, written] {
                let error = refused.expect_err("one file").to_string();
                assert!(error.contains("the same file"), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(&model).expect("read"), "model");
    }

    #[cfg(unix)]
    fn link(to: &Path, at: &Path) -> bool {
        std::os::unix::fs::symlink(to, at).is_ok()
    }

    #[cfg(not(unix))]
    fn link(_: &Path, _: &Path) -> bool {
        false
    }

    #[test]
    fn files_of_a_model_are_not_written() {
        let folder = TempDir::new().expect("a folder");
        let model = old(&folder, "model-00001-of-00002.gguf");
        for name in ["model-00002-of-00002.gguf", "tokenizer.json", "config.json"] {
            let path = old(&folder, name);
            for model in [&model, folder.path()] {
                let mut files = Files::default();
                files.reads_model("--model", model).expect("read");
                let error = files.writes("--out", &path).expect_err("of the model");
                assert!(error.to_string().contains(name), "{error}");
                for other in ["x", "last.bin"] {
                    let other = old(&folder, other);
                    files.writes("--out", &other).expect("another");
                }
            }
        }
    }

    #[test]
    fn places_where_nothing_can_be_are_named() {
        let folder = TempDir::new().expect("a folder");
        let file = old(&folder, "file");
        for path in [
            folder.path().to_owned(),
            file.join("in"),
            named(&folder, "no/x"),
        ] {
            let error = Files::default()
                .writes("--out", &path)
                .expect_err("no place");
            let name = path.display().to_string();
            assert!(error.to_string().contains(&name), "{error}");
        }
        assert_eq!(names(&folder), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_rights_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TempDir::new().expect("a folder");
        let path = old(&folder, "old");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("rights");
        let soft = named(&folder, "soft");
        assert!(link(&path, &soft));
        let target = Files::default().writes("--out", &soft).expect("a place");
        let draft = target.draft().expect("a draft");
        draft.complete("new").expect("put");
        assert!(soft.is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("read"), "new");
        let rights = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(rights & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_through() {
        let mut files = Files::default();
        for what in ["--out", "--all"] {
            let target = files.writes(what, Path::new("/dev/null")).expect("a place");
            assert!(target.is_stream());
            let draft = target.draft().expect("a draft");
            draft.complete("gone").expect("written");
        }
        assert!(is_null(Path::new("/dev/null")));
    }
}
