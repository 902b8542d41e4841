//! What can be wrong with a file, as values.

use std::path::PathBuf;

/// Why a file, a key, a tensor or a buffer was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A symbolic link to nothing.
    #[error("{}: is a link to {}, which is not there", path.display(), target.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
        /// What it names.
        target: PathBuf,
    },
    /// A path that is a folder or a device.
    #[error("{}: expected a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file that became shorter while it was read.
    #[error("{}: ends at byte {found}, and had {was} bytes when it was opened", path.display())]
    Shortened {
        /// The file.
        path: PathBuf,
        /// Its length when it was opened.
        was: u64,
        /// Its length now.
        found: u64,
    },
    /// A file that was written to while it was read.
    #[error("{}: was changed while it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file of a kind that is small, and is not.
    #[error("{found} bytes: expected at most {most}")]
    TooLarge {
        /// The most that is read.
        most: u64,
        /// Its length.
        found: u64,
    },
    /// Another error, with the file it is about.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<Error>,
    },
    /// The file does not begin with `GGUF`.
    #[error("expected the magic bytes \"GGUF\", found {found:02x?}")]
    Magic {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A GGUF file in big-endian order.
    #[error("big-endian GGUF (version {version}): expected little-endian")]
    BigEndian {
        /// The version, read in the file's own order.
        version: u32,
    },
    /// A GGUF version that is not read here.
    #[error("GGUF version {found}: expected 2 or 3")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// Something longer than what is left of the file.
    #[error("{what} at byte {at} needs {needed} bytes, {left} are left")]
    Truncated {
        /// What was being read.
        what: String,
        /// Where it starts.
        at: u64,
        /// The least it needs.
        needed: u64,
        /// The bytes between there and the end.
        left: u64,
    },
    /// Text that is not UTF-8.
    #[error("{what} at byte {at} is not UTF-8")]
    Utf8 {
        /// The key, `key[index]` or tensor.
        what: String,
        /// Where the text starts.
        at: u64,
    },
    /// A metadata value type that GGUF does not have.
    #[error("{key} has value type {found}: expected 0 to 12")]
    ValueType {
        /// The key.
        key: String,
        /// The type in the file.
        found: u32,
    },
    /// A truth value that is neither 0 nor 1.
    #[error("{what} is a bool of {found}: expected 0 or 1")]
    Bool {
        /// The key, or `key[index]`.
        what: String,
        /// The byte in the file.
        found: u8,
    },
    /// Arrays nested too deep.
    #[error("{key} nests arrays deeper than {limit}")]
    Depth {
        /// The key.
        key: String,
        /// The deepest accepted.
        limit: u32,
    },
    /// A metadata key given twice.
    #[error("metadata key {key} is given twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A metadata key that is needed and not there.
    #[error("metadata key {key} is missing: expected a value of type {want}")]
    MissingKey {
        /// The key.
        key: String,
        /// The type that was asked for.
        want: &'static str,
    },
    /// A metadata value of another type than asked for.
    #[error("metadata key {key}: expected {want}, found {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The type that was asked for.
        want: &'static str,
        /// The type in the file.
        found: String,
    },
    /// A metadata integer too large or too small for what was asked for.
    #[error("metadata key {key}: {found} does not fit {want}")]
    OutOfRange {
        /// The key.
        key: String,
        /// The type that was asked for.
        want: &'static str,
        /// The number in the file.
        found: i128,
    },
    /// `general.alignment` that cannot be one.
    #[error("general.alignment is {found}: expected a power of two of at least 8")]
    Alignment {
        /// The number in the file.
        found: u32,
    },
    /// A weight type that is not read here.
    #[error("weight type {id} ({name}) is not supported")]
    WeightType {
        /// The ggml id.
        id: u32,
        /// Its ggml name, or `unknown`.
        name: &'static str,
    },
    /// A tensor whose weight type is not read here.
    #[error("tensor {tensor} has weight type {id} ({name}), which is not supported")]
    TensorType {
        /// The tensor.
        tensor: String,
        /// The ggml id.
        id: u32,
        /// Its ggml name, or `unknown`.
        name: &'static str,
    },
    /// Two tensors of one name.
    #[error("tensor {tensor} is given twice")]
    DuplicateTensor {
        /// The name.
        tensor: String,
    },
    /// A tensor with no or too many dimensions.
    #[error("tensor {tensor} has {found} dimensions: expected 1 to 4")]
    Rank {
        /// The tensor.
        tensor: String,
        /// The number in the file.
        found: u32,
    },
    /// A tensor with a dimension of zero.
    #[error("tensor {tensor} has dimensions {dims:?}: expected none to be zero")]
    ZeroDim {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
    },
    /// A tensor whose size in bytes is no 64-bit number.
    #[error("tensor {tensor} has dimensions {dims:?}: their product overflows")]
    SizeOverflow {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
    },
    /// A row that is not whole blocks.
    #[error(
        "tensor {tensor} has rows of {row_len}: expected a multiple of {block_len} for {dtype}"
    )]
    RowLength {
        /// The tensor.
        tensor: String,
        /// The length of its rows.
        row_len: u64,
        /// The elements of one block.
        block_len: usize,
        /// The weight type.
        dtype: &'static str,
    },
    /// A tensor that does not start on the alignment.
    #[error("tensor {tensor} has offset {offset}: expected a multiple of {alignment}")]
    Misaligned {
        /// The tensor.
        tensor: String,
        /// Its offset in the data section.
        offset: u64,
        /// The file's alignment.
        alignment: u64,
    },
    /// A tensor that ends past the end of its file.
    #[error(
        "tensor {tensor} has {bytes} bytes at offset {offset} of the data section, which has {available}"
    )]
    OutOfFile {
        /// The tensor.
        tensor: String,
        /// Its offset in the data section.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// The size of the data section.
        available: u64,
    },
    /// Two tensors that share bytes.
    #[error("tensors {first} and {second} overlap")]
    Overlap {
        /// The one that starts first.
        first: String,
        /// The other.
        second: String,
    },
    /// One part of a split file, given alone or not first.
    #[error("part {number} of {count} of a split file: expected to be given the path of part 1")]
    SplitPart {
        /// Which part it is, from 1.
        number: u32,
        /// How many there are.
        count: u32,
    },
    /// The first part of a split file under a name that the others cannot be found by.
    #[error("{}: expected the name of a split file to end in {suffix}", path.display())]
    SplitName {
        /// The file.
        path: PathBuf,
        /// How its name should end.
        suffix: String,
    },
    /// A part that disagrees with the first one.
    #[error("split file: {key} is {found}, expected {want}")]
    SplitMismatch {
        /// The metadata key.
        key: &'static str,
        /// What the first part and the name ask for.
        want: u64,
        /// What was found.
        found: u64,
    },
    /// A weight that is infinite or not a number.
    #[error("tensor {tensor}, element {index}: {value} is not finite")]
    NonFinite {
        /// The tensor.
        tensor: String,
        /// The first such element, counted in file order.
        index: u64,
        /// Its value.
        value: f32,
    },
    /// A buffer of the wrong length.
    #[error("{what} has length {found}: expected {want}")]
    Length {
        /// Which buffer.
        what: String,
        /// The length it should have.
        want: u64,
        /// The length it has.
        found: u64,
    },
    /// A buffer that is not whole blocks.
    #[error("{found} elements of {dtype}: expected a multiple of {block_len}")]
    PartialBlock {
        /// The weight type.
        dtype: &'static str,
        /// The elements of one block.
        block_len: usize,
        /// The elements given.
        found: usize,
    },
    /// Something valid that is not done here.
    #[error("{what} is not supported")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// JSON that does not read as what it should be.
    #[error("{what}: {source}")]
    Json {
        /// What was being read.
        what: &'static str,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A safetensors file that the format's own checks refuse.
    #[error("safetensors: {source}")]
    Safetensors {
        /// What the format's library said.
        source: ::safetensors::SafeTensorError,
    },
    /// An element type of a safetensors file that is not read here.
    #[error("tensor {tensor} has element type {found}: expected F32, F16 or BF16")]
    ElementType {
        /// The tensor.
        tensor: String,
        /// The type in the file.
        found: String,
    },
    /// A tensor that an index lists and its shard lacks.
    #[error("tensor {tensor} is not in {shard}, where the index lists it")]
    MissingTensor {
        /// The tensor.
        tensor: String,
        /// The shard's file name.
        shard: String,
    },
    /// A shard name that leads out of its folder.
    #[error("shard {shard:?} is no plain file name")]
    ShardName {
        /// The name in the index.
        shard: String,
    },
    /// A file of none of the formats that Whisper models come in.
    #[error(
        "expected Whisper weights (CTranslate2, ggml, GGUF or safetensors), found a file that begins with {found:02x?}"
    )]
    NotWhisper {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A header field or a setting that cannot be.
    #[error("{field} is {found}: expected {want}")]
    Field {
        /// The field.
        field: String,
        /// What is in the file.
        found: String,
        /// What was expected.
        want: &'static str,
    },
    /// A tensor that the model needs and the file lacks.
    #[error("the file has no tensor {tensor}")]
    NoTensor {
        /// Its name.
        tensor: String,
    },
    /// A tensor that no part of the model is.
    #[error("tensor {tensor} would not be used: {why}")]
    UnusedTensor {
        /// Its name.
        tensor: String,
        /// Why not.
        why: String,
    },
    /// A configuration and the weights that do not go together.
    #[error("{field} is {found} in the configuration, and {want} in the weights")]
    Contradiction {
        /// The field.
        field: &'static str,
        /// What the configuration says.
        found: u32,
        /// What the weights say.
        want: u32,
    },
    /// A tensor of another shape than the model's sizes ask for.
    #[error("tensor {tensor} has shape {found:?}, slowest first: expected {want:?}")]
    Shape {
        /// The tensor.
        tensor: String,
        /// The shape that the sizes ask for.
        want: Vec<u64>,
        /// The shape in the file.
        found: Vec<u64>,
    },
    /// A folder without weights.
    #[error("{}: expected {} in it", path.display(), want.join(" or "))]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
        /// The files that were looked for.
        want: &'static [&'static str],
    },
}

impl Error {
    /// The same error, with the file it is about.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Error {
        match self {
            Error::Io { .. }
            | Error::DanglingLink { .. }
            | Error::Shortened { .. }
            | Error::Changed { .. }
            | Error::NotAFile { .. }
            | Error::InFile { .. }
            | Error::SplitName { .. }
            | Error::EmptyFolder { .. } => self,
            error => Error::InFile {
                path: path.to_path_buf(),
                error: Box::new(error),
            },
        }
    }
}
