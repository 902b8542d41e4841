//! The model: configuration and weights on a device, shared by sessions.

use super::{
    config::Config,
    inventory,
    products::is_tied,
    rope::RopeScaling,
    source::{LayerPart, Part, Source, Tensor},
    warning::{self, Warning},
};
use crate::{
    Error,
    chat::ChatTemplate,
    grammar::Grammars,
    rounding::{Files, Rounded, Rounder, Rounding},
    tokenizer::Tokenizer,
};
use std::sync::{Arc, OnceLock};
use warpsmith_device::{Device, Stream};
use warpsmith_graph::{Table, Vector, Weights};
use warpsmith_library::weights::pack;

/// Weights of a layer.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) attention_norm: Arc<Vector>,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
    pub(crate) query_norm: Option<Arc<Vector>>,
    pub(crate) key_norm: Option<Arc<Vector>>,
    pub(crate) feed_forward_norm: Arc<Vector>,
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

/// A matrix and its bias.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) weights: Arc<Weights>,
    pub(crate) bias: Option<Arc<Vector>>,
}

/// A Llama-type model on a device. `Send + Sync`: sessions in several threads share it.
#[derive(Debug)]
pub struct Model {
    device: Device,
    config: Config,
    pub(crate) embedding: Arc<Weights>,
    pub(crate) head: Arc<Weights>,
    pub(crate) final_norm: Arc<Vector>,
    pub(crate) rotation: Arc<Table>,
    pub(crate) layers: Vec<Layer>,
    warnings: Vec<Warning>,
    rounded: Option<Rounded>,
}

/// Is told how much of a model is loaded.
pub trait Progress {
    /// `done` of `total` bytes of weights are on the device.
    fn loaded(&mut self, done: u64, total: u64);
}

impl<F: FnMut(u64, u64)> Progress for F {
    fn loaded(&mut self, done: u64, total: u64) {
        self(done, total);
    }
}

struct Loader<'a> {
    source: &'a Source,
    stream: &'a Stream,
    progress: &'a mut dyn Progress,
    /// The bytes of one tensor after the other.
    buffer: Vec<u8>,
    rounder: Rounder,
    done: u64,
    total: u64,
}

/// What a matrix is for.
#[derive(Clone, Copy)]
enum Use {
    /// Rows are multiplied by it.
    Product,
    /// Rows of it are looked up.
    LookUp,
}

impl<'a> Loader<'a> {
    fn required(&self, part: Part) -> Result<Tensor<'a>, Error> {
        self.source
            .tensor(part)
            .ok_or_else(|| self.source.missing(part))
    }

    fn shape(tensor: &Tensor<'_>, want: &[u32]) -> Result<(), Error> {
        if tensor
            .shape
            .iter()
            .copied()
            .eq(want.iter().map(|n| u64::from(*n)))
        {
            return Ok(());
        }
        let want = want.iter().map(|n| u64::from(*n)).collect();
        Err(Error::TensorShape {
            name: tensor.name.clone(),
            want,
            got: tensor.shape.clone(),
        })
    }

    fn upload(
        &mut self,
        part: Part,
        [rows, columns]: [u32; 2],
        purpose: Use,
    ) -> Result<Arc<Weights>, Error> {
        let tensor = self.required(part)?;
        Self::shape(&tensor, &[rows, columns])?;
        tensor.read(&mut self.buffer)?;
        let (ty, bytes) = match purpose {
            Use::Product => {
                let Loader {
                    rounder, buffer, ..
                } = self;
                rounder.apply(&tensor.name, tensor.ty, buffer, columns)?
            }
            Use::LookUp => (tensor.ty, &self.buffer[..]),
        };
        let packed = pack(ty, bytes, rows, columns)?;
        let weights = Weights::upload(self.stream, &tensor.name, &packed)?;
        self.done += tensor.bytes;
        self.progress.loaded(self.done, self.total);
        Ok(Arc::new(weights))
    }

    fn optional_vector(&self, part: Part, len: u32) -> Result<Option<Arc<Vector>>, Error> {
        let Some(tensor) = self.source.tensor(part) else {
            return Ok(None);
        };
        Self::shape(&tensor, &[len])?;
        Ok(Some(Arc::new(Vector::upload(
            self.stream,
            &tensor.floats()?,
        )?)))
    }

    fn vector(&self, part: Part, len: u32) -> Result<Arc<Vector>, Error> {
        self.optional_vector(part, len)?
            .ok_or_else(|| self.source.missing(part))
    }

    /// The embedding and the matrix of the logits, which may be one.
    fn ends(&mut self, config: &Config) -> Result<[Arc<Weights>; 2], Error> {
        let shape = [config.vocab, config.width];
        if !is_tied(self.source, config) {
            let embedding = self.upload(Part::Embedding, shape, Use::LookUp)?;
            return Ok([embedding, self.upload(Part::Head, shape, Use::Product)?]);
        }
        let embedding = self.upload(Part::Embedding, shape, Use::Product)?;
        if let Some(own) = self.source.tensor(Part::Head) {
            self.done += own.bytes;
            self.progress.loaded(self.done, self.total);
        }
        Ok([Arc::clone(&embedding), embedding])
    }

    fn layer(&mut self, config: &Config, at: u32) -> Result<Layer, Error> {
        let part = |part| Part::Layer(at, part);
        let (width, inner) = (config.width, config.feed_forward);
        let (queries, keys) = (
            config.heads * config.head_dim,
            config.kv_heads * config.head_dim,
        );
        let mut linear = |weights, bias: Option<LayerPart>, rows, columns| {
            let weights = self.upload(part(weights), [rows, columns], Use::Product)?;
            let bias = bias
                .map(|bias| self.optional_vector(part(bias), rows))
                .transpose()?
                .flatten();
            Ok::<_, Error>(Linear { weights, bias })
        };
        let query = linear(LayerPart::Query, Some(LayerPart::QueryBias), queries, width)?;
        let key = linear(LayerPart::Key, Some(LayerPart::KeyBias), keys, width)?;
        let value = linear(LayerPart::Value, Some(LayerPart::ValueBias), keys, width)?;
        let output = linear(
            LayerPart::Output,
            Some(LayerPart::OutputBias),
            width,
            queries,
        )?;
        let gate = linear(LayerPart::Gate, None, inner, width)?;
        let up = linear(LayerPart::Up, None, inner, width)?;
        let down = linear(LayerPart::Down, None, width, inner)?;
        Ok(Layer {
            attention_norm: self.vector(part(LayerPart::AttentionNorm), width)?,
            query,
            key,
            value,
            output,
            query_norm: self.optional_vector(part(LayerPart::QueryNorm), config.head_dim)?,
            key_norm: self.optional_vector(part(LayerPart::KeyNorm), config.head_dim)?,
            feed_forward_norm: self.vector(part(LayerPart::FeedForwardNorm), width)?,
            gate,
            up,
            down,
        })
    }
}

impl Model {
    /// Uploads the weights of `source`, matrices as blocks of another type where that is wanted.
    ///
    /// # Errors
    /// Missing and unused tensors, wrong shapes, non-finite weights, files that are written to meanwhile, each by name;
    /// device errors.
    pub fn load(
        device: &Device,
        source: &Source,
        config: Config,
        rounding: Option<Rounding>,
        progress: &mut dyn Progress,
    ) -> Result<Model, Error> {
        inventory::check(source, &config)?;
        let warnings = warning::of(source, &config)?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let stream = device.stream()?;
        let total = source.weight_bytes();
        let mut loader = Loader {
            source,
            stream: &stream,
            progress,
            buffer: Vec::new(),
            rounder: Rounder::new(rounding),
            done: 0,
            total,
        };
        let factors = match (&config.rope_scaling, source.tensor(Part::RopeFactors)) {
            (RopeScaling::Factors, Some(tensor)) => Some(tensor.floats()?),
            _ => None,
        };
        let (frequencies, magnitude) = config.frequencies(factors.as_deref())?;
        let rotation = Arc::new(Table::upload(&stream, &frequencies, magnitude)?);
        let [embedding, head] = loader.ends(&config)?;
        let layers = (0..config.layers)
            .map(|at| loader.layer(&config, at))
            .collect::<Result<_, _>>()?;
        let final_norm = loader.vector(Part::FinalNorm, config.width)?;
        let rounded = loader.rounder.rounded();
        source.check_unchanged()?;
        stream.synchronize()?;
        Ok(Model {
            device: device.clone(),
            config,
            embedding,
            head,
            final_norm,
            rotation,
            layers,
            warnings,
            rounded,
        })
    }

    /// Where the file does not agree with itself, and which of two was followed.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What became of its matrices, where they were to be rounded.
    pub fn rounded(&self) -> Option<&Rounded> {
        self.rounded.as_ref()
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of weights on the device.
    pub fn bytes(&self) -> u64 {
        let linear = |linear: &Linear| linear.weights.bytes();
        let layers: u64 = self
            .layers
            .iter()
            .flat_map(|l| {
                [
                    &l.query, &l.key, &l.value, &l.output, &l.gate, &l.up, &l.down,
                ]
                .map(linear)
            })
            .sum();
        let tied = Arc::ptr_eq(&self.embedding, &self.head);
        layers + self.embedding.bytes() + if tied { 0 } else { self.head.bytes() }
    }
}

/// A model with what turns text into its tokens and back.
///
/// ```
/// use std::{ops::ControlFlow, path::Path};
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_models::{llama::{Bundle, Session, SessionOptions}, tokenizer::Special};
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let bundle = Bundle::load(&device, path, &mut |_, _| {})?; // a GGUF file or a folder
/// let options = SessionOptions { context: 64, ..SessionOptions::default() };
/// let mut session = Session::new(&bundle.model, &options)?;
/// let prompt = bundle.tokenizer.encode("Hello", Special::Parse)?;
/// session.prefill(&prompt, &mut |_, _| {})?;
/// let mut tokens = Vec::new();
/// session.generate(8, bundle.tokenizer.end_of_generation(), &mut |token| {
///     tokens.push(token);
///     ControlFlow::Continue(())
/// })?;
/// println!("{}", bundle.tokenizer.decode(&tokens)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Bundle {
    /// The model.
    pub model: Arc<Model>,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// Its chat template.
    pub template: ChatTemplate,
    /// Made for the first text that follows a grammar.
    grammars: OnceLock<Result<Grammars, Error>>,
}

impl Bundle {
    /// What makes constraints for texts of the model, made by the first call as [`Grammars::new`] does.
    ///
    /// # Errors
    /// As [`Grammars::new`], in each call.
    pub fn grammars(&self) -> Result<&Grammars, &Error> {
        let made = || Grammars::new(&self.tokenizer);
        self.grammars.get_or_init(made).as_ref()
    }

    /// Loads a GGUF file, or a folder with `config.json`, `tokenizer.json` and safetensors, its matrices rounded if that is
    /// wanted.
    ///
    /// # Errors
    /// What is wrong with the files, by name; device errors.
    pub fn load<'a>(
        device: &Device,
        files: impl Into<Files<'a>>,
        progress: &mut dyn Progress,
    ) -> Result<Bundle, Error> {
        let Files { path, rounding } = files.into();
        let _span = tracing::info_span!("load", path = %path.display()).entered();
        let source = Source::open(path)?;
        let (config, tokenizer, template) = match &source {
            Source::Gguf(gguf) => {
                let metadata = gguf.metadata();
                let config = Config::of_gguf(gguf)?;
                let tokenizer = Tokenizer::from_gguf(metadata)?;
                let template = ChatTemplate::from_gguf(metadata, &tokenizer);
                (config, tokenizer, template)
            }
            Source::Safetensors(_) => super::folder::open(path)?,
        };
        if tokenizer.vocab_len() > config.vocab as usize {
            let what = format!(
                "a tokenizer of {} tokens for a model of {}",
                tokenizer.vocab_len(),
                config.vocab
            );
            return Err(Error::Unsupported { what });
        }
        let model = Model::load(device, &source, config, rounding, progress)?;
        let model = Arc::new(model);
        let (bytes, layers) = (model.bytes(), model.config().layers);
        tracing::info!(bytes, layers, "weights are on the device");
        Ok(Bundle {
            model,
            tokenizer: Arc::new(tokenizer),
            template,
            grammars: OnceLock::new(),
        })
    }
}
