//! Scripts from JSON files.

use super::{
    Arg, Buffer, Contents, Error, Freed, Global, LaunchSpec, Mode, Script, Wanted, WantedContents,
    json::Node,
    number::{element, hex},
    place,
    values::{mode, scalar},
};
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};
use warpsmith_formats::input;
use warpsmith_ptx::types::Type;

/// Bytes of a script's text at most.
const MAX_SCRIPT: u64 = 64 << 20;
/// Bytes of all buffers together at most.
const MAX_BUFFERS: u64 = 8 << 30;
/// What a script may have.
const KEYS: &[&str] = &[
    "$schema",
    "description",
    "ptx",
    "variants",
    "target",
    "sms",
    "max_blocks_per_sm",
    "buffers",
    "globals",
    "launches",
    "freed",
    "host_reads",
    "leaked",
    "co_resident",
    "cluster",
];
/// What a script must run.
const SOME: &str = "at least one launch";
/// Items of a list at most.
const MAX_ITEMS: usize = 1 << 16;
/// Bytes of the parameters of a kernel at most.
const MAX_PARAM: u64 = 32 << 10;

/// A file's bytes, if there are not too many.
fn file(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let fail = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let bytes = fs::metadata(path).map_err(fail)?.len();
    if bytes > limit {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            bytes,
            limit,
        });
    }
    // A file that grows, or says nothing of its size, stays within the limit.
    input::bytes(path, limit).map_err(fail)
}

/// Bytes of a PTX text at most.
const MAX_PTX: u64 = 1 << 30;

/// The text of a PTX file; what is no UTF-8 in it is replaced.
pub(crate) fn ptx(path: &Path) -> Result<String, Error> {
    let bytes = file(path, MAX_PTX)?;
    ptx_of(path, &bytes)
}

/// The PTX that bytes are, `path` being their name; what is no UTF-8 in it is replaced.
pub(crate) fn ptx_of(path: &Path, bytes: &[u8]) -> Result<String, Error> {
    if let Some((found, help)) = other_kind(path, bytes) {
        let path = path.to_owned();
        return Err(Error::NotPtx { path, found, help });
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// What a file is that is no PTX, and how PTX is made of it.
fn other_kind(path: &Path, bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let has = |word: &[u8]| {
        let head = &bytes[..bytes.len().min(1 << 20)];
        head.windows(word.len()).any(|part| part == word)
    };
    let cuda = "; `nvcc -ptx -lineinfo FILE.cu -o FILE.ptx` makes it";
    match bytes {
        [0x7F, b'E', b'L', b'F', ..] => Some((
            "a compiled binary",
            "; `cuobjdump -ptx FILE` shows the PTX that may be in it",
        )),
        [0x50, 0xED, 0x55, 0xBA, ..] => Some((
            "a fat binary",
            "; `cuobjdump -ptx FILE` shows the PTX that may be in it",
        )),
        [b'B', b'C', 0xC0, 0xDE, ..] => Some(("LLVM bitcode", "; `llc -march=nvptx64` makes it")),
        _ if has(b".version") => None,
        _ if matches!(extension, Some("cu" | "cuh")) || has(b"__global__") => {
            Some(("CUDA C++", cuda))
        }
        _ if matches!(extension, Some("json")) => {
            Some(("JSON", "; `warpsmith run --script FILE` runs a script"))
        }
        _ if matches!(extension, Some("ll")) => {
            Some(("LLVM IR", "; `llc -march=nvptx64` makes it"))
        }
        _ => None,
    }
}

impl Script {
    /// Reads a script and the data files that it names.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::TooLarge`], [`Error::Json`], or [`Error::Script`] with the place of a
    /// value that is not as it should be.
    pub fn read(path: &Path) -> Result<Script, Error> {
        let text = file(path, MAX_SCRIPT)?;
        let json = serde_json::from_slice(&text).map_err(|source| Error::Json {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let reader = Reader {
            folder,
            names: Vec::new(),
        };
        // The parser took it as UTF-8.
        let text = String::from_utf8_lossy(&text).into_owned();
        if let Some(at) = place::duplicate(&text) {
            let error = Error::Script {
                at,
                line: None,
                expected: "each key once".to_owned(),
                found: "it twice".to_owned(),
            };
            return Err(error.in_text(&text));
        }
        let script = reader.script(&Node::root(&json));
        match script {
            Ok(script) => Ok(Script { text, ..script }),
            Err(error) => Err(error.in_text(&text)),
        }
    }
}

struct Reader {
    folder: PathBuf,
    names: Vec<String>,
}

impl Reader {
    fn script(mut self, root: &Node<'_>) -> Result<Script, Error> {
        root.only(KEYS)?;
        let ptx = self.folder.join(root.need("ptx", "a PTX file")?.text()?);
        let target = match root.key("target")? {
            Some(node) => Some(
                node.text()?
                    .parse()
                    .map_err(|_| node.expected("a target such as sm_80"))?,
            ),
            None => None,
        };
        let small = |name: &str| -> Result<Option<u32>, Error> {
            match root.key(name)? {
                Some(node) => Ok(Some(node.count(1 << 20)? as u32)),
                None => Ok(None),
            }
        };
        let members = match root.key("buffers")? {
            Some(node) => node.members()?,
            None => Vec::new(),
        };
        self.names = members.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut total = 0u64;
        let mut buffers = Vec::new();
        for (name, node) in &members {
            let buffer = self.buffer(name, node, MAX_BUFFERS - total)?;
            total += buffer.bytes;
            buffers.push(buffer);
        }
        // For tools: the same program for other targets.
        each(root, "variants", Node::text)?;
        let globals = each(root, "globals", |node| {
            node.only(&["symbol", "file", "bytes"])?;
            let file = self.file(&node.need("file", "a data file")?, None)?;
            if let Some(bytes) = node.key("bytes")? {
                let wanted = bytes.whole(MAX_BUFFERS)?;
                if wanted != file.len() as u64 {
                    return Err(bytes.expected(format!("{}, the size of the file", file.len())));
                }
            }
            Ok(Global {
                symbol: node.need("symbol", "a variable's name")?.text()?.to_owned(),
                bytes: file,
            })
        })?;
        once(root, "globals", |node| {
            node.need("symbol", "a variable's name")?.text()
        })?;
        let launches = each(root, "launches", |node| self.launch(node))?;
        if launches.is_empty() {
            let list = root.need("launches", SOME)?;
            return Err(list.expected(SOME));
        }
        let freed = self.freed(root, launches.len())?;
        let gone: Vec<usize> = freed
            .iter()
            .flat_map(|freed| freed.buffers.clone())
            .collect();
        for name in ["host_reads", "leaked"] {
            once(root, name, |node| node.text())?;
            each(root, name, |node| match gone.contains(&self.named(node)?) {
                true => Err(node.expected("a buffer that `freed` does not name")),
                false => Ok(()),
            })?;
        }
        for (at, (_, node)) in members.iter().enumerate() {
            if let Some(expect) = node.key("expect")?.filter(|_| gone.contains(&at)) {
                return Err(
                    expect.expected("nothing: `freed` names the buffer, which is never compared")
                );
            }
        }
        self.used(&members, &buffers, &launches)?;
        let co_resident = root.key("co_resident")?;
        let cluster = root.key("cluster")?;
        Ok(Script {
            ptx,
            ptx_text: None,
            target,
            sms: small("sms")?,
            max_blocks_per_sm: small("max_blocks_per_sm")?,
            buffers,
            globals,
            launches,
            freed,
            host_reads: each(root, "host_reads", |name| self.named(name))?,
            leaked: each(root, "leaked", |name| self.named(name))?,
            co_resident: co_resident.map(|node| node.flag()).transpose()? == Some(true),
            cluster: cluster.map(|node| three(&node)).transpose()?,
            text: String::new(),
        })
    }

    /// What is given back, each buffer once and before a launch that there is.
    fn freed(&self, root: &Node<'_>, launches: usize) -> Result<Vec<Freed>, Error> {
        let mut gone = HashSet::new();
        each(root, "freed", |node| {
            node.only(&["launch", "buffers"])?;
            let launch = node.need("launch", "the number of a launch")?;
            let mut buffers = Vec::new();
            for name in node.need("buffers", "a list of buffers")?.items()? {
                let buffer = self.named(&name)?;
                if !gone.insert(buffer) {
                    return Err(name.expected("each buffer once"));
                }
                buffers.push(buffer);
            }
            Ok(Freed {
                launch: launch.whole(launches as u64 - 1)? as usize,
                buffers,
            })
        })
    }

    /// Refuses a buffer with the contents of a file that nothing uses.
    fn used(
        &self,
        members: &[(&str, Node<'_>)],
        buffers: &[Buffer],
        launches: &[LaunchSpec],
    ) -> Result<(), Error> {
        let mut used: HashSet<usize> = HashSet::new();
        for buffer in buffers {
            used.extend(buffer.pointers.iter().map(|(_, to)| *to));
        }
        for arg in launches.iter().flat_map(|launch| &launch.args) {
            match arg {
                Arg::Pointer { buffer, .. } => used.extend(*buffer),
                Arg::Bytes { pointers, .. } => used.extend(pointers.iter().map(|(_, to)| *to)),
            }
        }
        for (at, (_, node)) in members.iter().enumerate() {
            let read = matches!(buffers[at].contents, Contents::Bytes(_));
            if read && buffers[at].wanted.is_none() && !used.contains(&at) {
                return Err(
                    node.expected("a buffer that a launch is given, its file is for nothing")
                );
            }
        }
        Ok(())
    }

    /// The buffer that a value names.
    fn named(&self, node: &Node<'_>) -> Result<usize, Error> {
        let name = node.text()?;
        let at = self.names.iter().position(|known| known == name);
        at.ok_or_else(|| node.expected("the name of a buffer"))
    }

    /// The bytes of the file that a value names, which must have so many.
    fn file(&self, node: &Node<'_>, bytes: Option<u64>) -> Result<Vec<u8>, Error> {
        let path = self.folder.join(node.text()?);
        let data = file(&path, MAX_BUFFERS).map_err(|error| error.at(node.at()))?;
        match bytes {
            Some(bytes) if bytes != data.len() as u64 => Err(Error::Script {
                at: node.at().to_owned(),
                line: None,
                expected: format!("a file of {bytes} bytes"),
                found: format!("{} with {} bytes", path.display(), data.len()),
            }),
            _ => Ok(data),
        }
    }

    fn buffer(&self, name: &str, node: &Node<'_>, room: u64) -> Result<Buffer, Error> {
        node.only(&["dtype", "count", "bytes", "init", "expect", "check"])?;
        let element = match node.key("dtype")? {
            Some(dtype) => element(dtype.text()?)
                .ok_or_else(|| dtype.expected("an element type such as f32 or i32"))?,
            None => Type::U8,
        };
        let size = u64::from(element.bytes());
        let whole = |count: &Node<'_>| Ok::<u64, Error>(count.whole(room / size)? * size);
        let bytes = match (node.key("bytes")?, node.key("count")?) {
            (Some(bytes), Some(count)) => {
                let (found, all) = (bytes.whole(room)?, whole(&count)?);
                if found != all {
                    return Err(bytes.expected(format!("{all}, `count` times {size}")));
                }
                found
            }
            (Some(bytes), None) => {
                let found = bytes.whole(room)?;
                if found % size != 0 {
                    return Err(
                        bytes.expected(format!("a multiple of {size}, the size of an element"))
                    );
                }
                found
            }
            (None, Some(count)) => whole(&count)?,
            (None, None) => return Err(node.expected("`bytes` or `count` in the object")),
        };
        let (contents, pointers) = match node.key("init")? {
            Some(init) => self.contents(&init, bytes)?,
            None => (Contents::Uninitialized, Vec::new()),
        };
        let mode = match node.key("check")? {
            Some(check) if node.key("expect")?.is_none() => {
                return Err(check.expected("`expect` beside it, which it is about"));
            }
            Some(check) => mode(&check)?,
            None => Mode::Exact,
        };
        let wanted = match node.key("expect")? {
            Some(expect) if expect.text()? == "unchanged" => Some(WantedContents::Unchanged),
            Some(expect) => Some(WantedContents::Bytes(self.file(&expect, Some(bytes))?)),
            None => None,
        };
        Ok(Buffer {
            name: name.to_owned(),
            element,
            bytes,
            contents,
            pointers,
            wanted: wanted.map(|contents| Wanted { contents, mode }),
        })
    }

    fn contents(
        &self,
        init: &Node<'_>,
        bytes: u64,
    ) -> Result<(Contents, Vec<(u64, usize)>), Error> {
        init.only(&["file", "fill", "uninitialized", "pointers"])?;
        let uninitialized = match init.key("uninitialized")? {
            Some(node) if !node.flag()? => return Err(node.expected("true, or no such key")),
            other => other,
        };
        let (file, fill) = (init.key("file")?, init.key("fill")?);
        let given = [&file, &fill, &uninitialized];
        if let Some(second) = given.into_iter().flatten().nth(1) {
            return Err(second.expected("one of `file`, `fill` and `uninitialized`"));
        }
        let contents = if let Some(file) = file {
            Contents::Bytes(self.file(&file, Some(bytes))?)
        } else if let Some(fill) = fill {
            Contents::Fill(fill.whole(255)? as u8)
        } else if uninitialized.is_some() || init.key("pointers")?.is_some() {
            Contents::Uninitialized
        } else {
            return Err(init.expected("`file`, `fill`, `uninitialized` or `pointers`"));
        };
        Ok((contents, self.pointers(init, bytes)?))
    }

    /// The addresses that are written into `bytes` bytes.
    fn pointers(&self, node: &Node<'_>, bytes: u64) -> Result<Vec<(u64, usize)>, Error> {
        let mut taken: Vec<u64> = Vec::new();
        each(node, "pointers", |pointer| {
            pointer.only(&["offset", "buffer"])?;
            let offset = pointer.need("offset", "bytes from the start")?;
            let buffer = pointer.need("buffer", "the name of a buffer")?;
            let Some(most) = bytes.checked_sub(8) else {
                return Err(offset.expected("at least 8 bytes for an address"));
            };
            let at = offset.whole(most)?;
            if let Some(other) = taken.iter().find(|other| other.abs_diff(at) < 8) {
                let expected = format!("8 bytes that no other pointer has, one is at {other}");
                return Err(offset.expected(expected));
            }
            taken.push(at);
            Ok((at, self.named(&buffer)?))
        })
    }

    fn launch(&self, node: &Node<'_>) -> Result<LaunchSpec, Error> {
        node.only(&["kernel", "grid", "block", "dynamic_smem", "args"])?;
        let kernel = node.need("kernel", "a kernel's name")?.text()?.to_owned();
        let grid = three(&node.need("grid", "three whole numbers")?)?;
        let block = three(&node.need("block", "three whole numbers")?)?;
        let shared = node.key("dynamic_smem")?;
        let shared = shared.map(|node| node.whole(u64::from(u32::MAX)));
        Ok(LaunchSpec {
            kernel,
            grid,
            block,
            dynamic_shared: shared.transpose()?.unwrap_or(0) as u32,
            args: each(node, "args", |arg| self.arg(arg))?,
        })
    }

    fn arg(&self, node: &Node<'_>) -> Result<Arg, Error> {
        let kind = node.need("kind", "`ptr`, `scalar` or `struct`")?;
        match kind.text()? {
            "ptr" => {
                node.only(&["kind", "buffer", "offset"])?;
                let buffer = node.key("buffer")?;
                let offset = node.key("offset")?;
                Ok(Arg::Pointer {
                    buffer: buffer.map(|name| self.named(&name)).transpose()?,
                    offset: offset.map(|n| n.whole(u64::MAX)).transpose()?.unwrap_or(0),
                })
            }
            "scalar" => {
                let (ty, bytes) = scalar(node)?;
                let pointers = Vec::new();
                Ok(Arg::Bytes {
                    ty,
                    bytes,
                    pointers,
                })
            }
            "struct" => {
                node.only(&["kind", "size", "align", "hex", "pointers"])?;
                if let Some(align) = node.key("align")?
                    && !align.whole(MAX_PARAM)?.is_power_of_two()
                {
                    return Err(align.expected("a power of two"));
                }
                let digits = node.key("hex")?;
                let size = node.key("size")?;
                let size = size.map(|size| size.whole(MAX_PARAM)).transpose()?;
                let mut bytes = match &digits {
                    Some(digits) => hex(digits.text()?)
                        .ok_or_else(|| digits.expected("pairs of hexadecimal digits"))?,
                    None => Vec::new(),
                };
                match (size, &digits) {
                    (Some(size), Some(digits)) if bytes.len() as u64 != size => {
                        return Err(digits.expected(format!("the digits of {size} bytes, `size`")));
                    }
                    (Some(size), None) => bytes.resize(size as usize, 0),
                    (None, None) => return Err(node.expected("`size` or `hex` in the object")),
                    (_, Some(_)) => {}
                }
                let pointers = self.pointers(node, bytes.len() as u64)?;
                Ok(Arg::Bytes {
                    ty: None,
                    bytes,
                    pointers,
                })
            }
            _ => Err(kind.expected("`ptr`, `scalar` or `struct`")),
        }
    }
}

/// Refuses a list that has something twice.
fn once<'v>(
    node: &Node<'v>,
    name: &str,
    text: impl Fn(&Node<'v>) -> Result<&'v str, Error>,
) -> Result<(), Error> {
    let mut seen = HashSet::new();
    each(node, name, |item| match seen.insert(text(item)?) {
        true => Ok(()),
        false => Err(item.expected("each name once")),
    })?;
    Ok(())
}

/// The items of a list that may be missing.
fn each<'v, T>(
    node: &Node<'v>,
    name: &str,
    item: impl FnMut(&Node<'v>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let Some(list) = node.key(name)? else {
        return Ok(Vec::new());
    };
    let items = list.items()?;
    if items.len() > MAX_ITEMS {
        return Err(list.expected(format!("a list of at most {MAX_ITEMS}")));
    }
    items.iter().map(item).collect()
}

fn three(node: &Node<'_>) -> Result<[u32; 3], Error> {
    let items = node.items()?;
    if items.is_empty() || items.len() > 3 {
        return Err(node.expected("one to three whole numbers"));
    }
    let mut out = [1; 3];
    for (out, item) in out.iter_mut().zip(&items) {
        *out = item.count(u64::from(u32::MAX))? as u32;
    }
    Ok(out)
}
