//! Opens what is read: looks first what it is, and reads no more than is asked for.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a named pipe may have nobody at its other end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much of a pipe is read at most: its length is not known before.
const PIPED: u64 = 1 << 30;

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file that can be read at any place.
    File,
    /// A folder.
    Folder,
    /// A named or unnamed pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal, or the device that is always empty.
    Quiet,
    /// Any other device.
    Device,
}

impl Kind {
    /// What is at the end of `path`; links are followed.
    ///
    /// # Errors
    /// What the system says, as of a file that is missing.
    pub fn of(path: &Path) -> io::Result<Kind> {
        Ok(match kind(fs::metadata(path)?.file_type()) {
            Kind::Device if is_quiet(path) => Kind::Quiet,
            kind => kind,
        })
    }

    /// Its name, as in "a named pipe".
    pub fn name(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Folder => "a directory",
            Kind::Pipe => "a named pipe",
            Kind::Socket => "a socket",
            Kind::Quiet | Kind::Device => "a device",
        }
    }
}

/// Whether anything has this name: a folder, a pipe and a link to nothing too, which are errors where a file is looked
/// for, and not passed over.
pub fn is_there(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.map_or_else(|error| error.kind() != ErrorKind::NotFound, |_| true)
}

#[cfg(unix)]
fn kind(found: FileType) -> Kind {
    use std::os::unix::fs::FileTypeExt;
    if found.is_dir() {
        Kind::Folder
    } else if found.is_fifo() {
        Kind::Pipe
    } else if found.is_socket() {
        Kind::Socket
    } else if found.is_file() {
        Kind::File
    } else {
        Kind::Device
    }
}

#[cfg(not(unix))]
fn kind(found: FileType) -> Kind {
    if found.is_dir() {
        Kind::Folder
    } else if found.is_file() {
        Kind::File
    } else {
        Kind::Device
    }
}

/// Whether a device is a terminal or empty: what can be read of it ends.
fn is_quiet(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let among = |folder: &str| path.starts_with(folder);
    let terminal = path.file_name().is_some_and(|name| {
        name.as_encoded_bytes().starts_with(b"tty") || name.as_encoded_bytes() == b"console"
    });
    path == Path::new("/dev/null") || among("/dev/pts") || (among("/dev") && terminal)
}

fn refused(kind: Kind, want: &str) -> io::Error {
    let what = format!("is {}: expected {want}", kind.name());
    io::Error::new(
        match kind {
            Kind::Folder => ErrorKind::IsADirectory,
            _ => ErrorKind::InvalidInput,
        },
        what,
    )
}

/// Opens a file that can be read at any place.
///
/// # Errors
/// What the system says; folders, pipes, sockets and devices, by what they are, before they are opened.
pub fn regular(path: &Path) -> io::Result<File> {
    match Kind::of(path)? {
        Kind::File => File::open(path),
        kind => Err(refused(kind, "a file that can be read at any place")),
    }
}

/// All bytes of a file or a pipe, of which there may be `most`.
///
/// # Errors
/// What the system says; more bytes than that; folders, sockets and endless devices, by what they are; a named pipe
/// that nobody writes to.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, most) = match Kind::of(path)? {
        Kind::File => {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            if len > most {
                return Err(too_long(&format!("{len} bytes"), most));
            }
            (file, most)
        }
        Kind::Quiet => (File::open(path)?, most),
        Kind::Pipe => {
            let open = |path: &Path| File::open(path);
            (
                patiently(path, "nobody writes to it", open)?,
                most.min(PIPED),
            )
        }
        kind @ (Kind::Folder | Kind::Socket | Kind::Device) => {
            return Err(refused(kind, "a file or a pipe"));
        }
    };
    let mut out = Vec::new();
    // A file that grows, or says nothing of its size, is noticed.
    file.take(most.saturating_add(1)).read_to_end(&mut out)?;
    if out.len() as u64 > most {
        return Err(too_long("more bytes", most));
    }
    Ok(out)
}

/// A text in UTF-8, of at most `most` bytes.
///
/// # Errors
/// As [`bytes`], and bytes that are no UTF-8, with their place.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("expected UTF-8 text, found another byte at {at}");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

/// Opens a named pipe, unless its other end stays closed: `nobody` says whose that is.
///
/// # Errors
/// What `open` says; [`ErrorKind::TimedOut`] after five seconds.
pub fn patiently(
    path: &Path,
    nobody: &str,
    open: impl Fn(&Path) -> io::Result<File> + Send + 'static,
) -> io::Result<File> {
    let (done, opened) = mpsc::channel();
    let path: PathBuf = path.to_owned();
    // Opening waits for the other end, without a limit.
    thread::spawn(move || done.send(open(&path)));
    match opened.recv_timeout(PATIENCE) {
        Ok(file) => file,
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            let what = format!("is a named pipe, and for {seconds} seconds {nobody}");
            Err(io::Error::new(ErrorKind::TimedOut, what))
        }
    }
}

fn too_long(found: &str, most: u64) -> io::Error {
    let what = format!("expected at most {most} bytes, found {found}");
    io::Error::new(ErrorKind::FileTooLarge, what)
}
