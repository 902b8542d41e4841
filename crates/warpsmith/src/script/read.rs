//! Scripts from JSON files.

use super::{
    Arg, Buffer, Contents, Error, Freed, Global, LaunchSpec, Mode, Script, Wanted, WantedContents,
    json::Node,
    number::{element, encode, hex},
};
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};
use warpsmith_ptx::types::Type;

/// Bytes of a script's text at most.
const MAX_SCRIPT: u64 = 64 << 20;
/// Bytes of all buffers together at most.
const MAX_BUFFERS: u64 = 8 << 30;
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
    let mut out = Vec::new();
    // A file that grows, or says nothing of its size, stays within the limit.
    let opened = File::open(path).map_err(fail)?;
    opened.take(limit).read_to_end(&mut out).map_err(fail)?;
    Ok(out)
}

/// Bytes of a PTX text at most.
const MAX_PTX: u64 = 1 << 30;

/// The text of a PTX file; what is no UTF-8 in it is replaced.
pub(crate) fn ptx(path: &Path) -> Result<String, Error> {
    let text = file(path, MAX_PTX)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
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
        reader.script(&Node::root(&json))
    }
}

struct Reader {
    folder: PathBuf,
    names: Vec<String>,
}

impl Reader {
    fn script(mut self, root: &Node<'_>) -> Result<Script, Error> {
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
                Some(node) => match node.whole(1 << 20)? {
                    0 => Err(node.expected("a whole number from 1")),
                    value => Ok(Some(value as u32)),
                },
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
        let globals = each(root, "globals", |node| {
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
        let launches = each(root, "launches", |node| self.launch(node))?;
        let freed = each(root, "freed", |node| {
            let launch = node.need("launch", "the number of a launch")?;
            Ok(Freed {
                launch: launch.whole(launches.len() as u64)? as usize,
                buffers: each(node, "buffers", |name| self.named(name))?,
            })
        })?;
        let co_resident = root.key("co_resident")?;
        let cluster = root.key("cluster")?;
        Ok(Script {
            ptx,
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
        })
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
        let data = file(&path, MAX_BUFFERS)?;
        match bytes {
            Some(bytes) if bytes != data.len() as u64 => Err(Error::Script {
                at: node.at().to_owned(),
                expected: format!("a file of {bytes} bytes"),
                found: format!("{} with {} bytes", path.display(), data.len()),
            }),
            _ => Ok(data),
        }
    }

    fn buffer(&self, name: &str, node: &Node<'_>, room: u64) -> Result<Buffer, Error> {
        let element = match node.key("dtype")? {
            Some(dtype) => element(dtype.text()?)
                .ok_or_else(|| dtype.expected("an element type such as f32 or i32"))?,
            None => Type::U8,
        };
        let bytes = match (node.key("bytes")?, node.key("count")?) {
            (Some(bytes), _) => bytes.whole(room)?,
            (None, Some(count)) => {
                let size = u64::from(element.bytes());
                count.whole(room / size)? * size
            }
            (None, None) => return Err(node.expected("`bytes` or `count` in the object")),
        };
        let (contents, pointers) = match node.key("init")? {
            Some(init) => self.contents(&init, bytes)?,
            None => (Contents::Uninitialized, Vec::new()),
        };
        let mode = match node.key("check")? {
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
        let uninitialized = init.key("uninitialized")?;
        let contents = if let Some(file) = init.key("file")? {
            Contents::Bytes(self.file(&file, Some(bytes))?)
        } else if let Some(fill) = init.key("fill")? {
            Contents::Fill(fill.whole(255)? as u8)
        } else if uninitialized.map(|node| node.flag()).transpose()? == Some(true)
            || init.key("pointers")?.is_some()
        {
            Contents::Uninitialized
        } else {
            return Err(init.expected("`file`, `fill`, `uninitialized` or `pointers`"));
        };
        Ok((contents, self.pointers(init, bytes)?))
    }

    /// The addresses that are written into `bytes` bytes.
    fn pointers(&self, node: &Node<'_>, bytes: u64) -> Result<Vec<(u64, usize)>, Error> {
        each(node, "pointers", |pointer| {
            let offset = pointer.need("offset", "bytes from the start")?;
            let buffer = pointer.need("buffer", "the name of a buffer")?;
            let Some(most) = bytes.checked_sub(8) else {
                return Err(offset.expected("at least 8 bytes for an address"));
            };
            Ok((offset.whole(most)?, self.named(&buffer)?))
        })
    }

    fn launch(&self, node: &Node<'_>) -> Result<LaunchSpec, Error> {
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
                let buffer = node.key("buffer")?;
                let offset = node.key("offset")?;
                Ok(Arg::Pointer {
                    buffer: buffer.map(|name| self.named(&name)).transpose()?,
                    offset: offset.map(|n| n.whole(u64::MAX)).transpose()?.unwrap_or(0),
                })
            }
            "scalar" => Ok(Arg::Bytes {
                bytes: scalar(node)?,
                pointers: Vec::new(),
            }),
            "struct" => {
                let digits = node.key("hex")?;
                let size = node.key("size")?;
                let size = size.map(|size| size.whole(MAX_PARAM)).transpose()?;
                let mut bytes = match &digits {
                    Some(digits) => hex(digits.text()?)
                        .ok_or_else(|| digits.expected("pairs of hexadecimal digits"))?,
                    None => Vec::new(),
                };
                if let Some(size) = size {
                    let size = size as usize;
                    if let Some(digits) = digits.filter(|_| bytes.len() > size) {
                        return Err(digits.expected(format!("the digits of {size} bytes")));
                    }
                    bytes.resize(size, 0);
                }
                let pointers = self.pointers(node, bytes.len() as u64)?;
                Ok(Arg::Bytes { bytes, pointers })
            }
            _ => Err(kind.expected("`ptr`, `scalar` or `struct`")),
        }
    }
}

/// The bytes of a scalar: its `hex`, or its `value` as its `type`.
fn scalar(node: &Node<'_>) -> Result<Vec<u8>, Error> {
    if let Some(digits) = node.key("hex")? {
        let bytes = hex(digits.text()?);
        return bytes.ok_or_else(|| digits.expected("pairs of hexadecimal digits"));
    }
    let ty = node.need("type", "a type such as f32 or i32")?;
    let value = node.need("value", "a number, or `hex`")?;
    let known = element(ty.text()?).ok_or_else(|| ty.expected("a type such as f32 or i32"))?;
    encode(known, &value.literal()?)
        .ok_or_else(|| value.expected(format!("a number that fits {known}")))
}

fn mode(check: &Node<'_>) -> Result<Mode, Error> {
    let name = check.need("mode", "`exact`, `value`, `tol` or `none`")?;
    match name.text()? {
        "exact" => Ok(Mode::Exact),
        "value" => Ok(Mode::Value),
        "none" => Ok(Mode::Ignored),
        "tol" => {
            let bounds = |name: &str| -> Result<Vec<f64>, Error> {
                match check.key(name)? {
                    Some(node) => match node.items() {
                        Ok(items) => items.iter().map(Node::number).collect(),
                        Err(_) => Ok(vec![node.number()?]),
                    },
                    None => Ok(Vec::new()),
                }
            };
            Ok(Mode::Tolerance {
                abs: bounds("abs")?,
                rel: bounds("rel")?,
            })
        }
        _ => Err(name.expected("`exact`, `value`, `tol` or `none`")),
    }
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
        *out = item.whole(u64::from(u32::MAX))? as u32;
    }
    Ok(out)
}
