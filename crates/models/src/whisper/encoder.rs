//! The encoder: two convolutions over the mel frames, positions, blocks, a norm.

use super::{
    block::{EncoderBlock, Scratch},
    parts::{Conv, Norm},
};
use crate::Error;
use warpsmith_device::Buffer;
use warpsmith_graph::{Graph, Node};

/// The convolutions and what is added to their output.
#[derive(Debug)]
pub struct Frontend {
    /// `[width, 3 * mels]`, stride 1.
    pub conv1: Conv,
    /// `[width, 3 * width]`, stride 2.
    pub conv2: Conv,
    /// `[frames, width]`: learned as they are, not computed.
    pub positions: Buffer<f32>,
    /// Rows of `positions`.
    pub frames: u32,
    /// Width.
    pub width: u32,
}

impl Frontend {
    /// From mel frames `[2 * frames, mels]`, a frame after the other, to `[frames, width]`; the node of the first
    /// convolution comes with it.
    ///
    /// # Errors
    /// An `x` of another size.
    pub fn forward(&self, graph: &mut Graph, mel: Node) -> Result<[Node; 2], Error> {
        let first = self.conv1.forward(graph, mel, None)?;
        let positions = graph.floats(&self.positions, self.frames, self.width)?;
        let second = self.conv2.forward(graph, first, Some(positions))?;
        graph.name(positions, "positions")?;
        Ok([graph.name(first, "conv1")?, graph.name(second, "conv2")?])
    }
}

/// The encoder.
#[derive(Debug)]
pub struct Encoder {
    /// Convolutions.
    pub frontend: Frontend,
    /// Blocks.
    pub blocks: Vec<EncoderBlock>,
    /// The last norm.
    pub norm: Norm,
}

/// The nodes of an encoder pass, in order.
#[derive(Clone, Debug)]
pub struct Taps {
    /// After the first convolution.
    pub conv1: Node,
    /// After the second, with positions.
    pub frontend: Node,
    /// After each block.
    pub blocks: Vec<Node>,
    /// The output.
    pub output: Node,
}

impl Encoder {
    /// Adds the encoder to a graph.
    ///
    /// # Errors
    /// A mel of another size.
    pub fn forward(&self, graph: &mut Graph, mel: Node, scratch: &Scratch) -> Result<Taps, Error> {
        let [conv1, frontend] =
            graph.within("encoder", |graph| self.frontend.forward(graph, mel))?;
        let mut x = frontend;
        let mut blocks = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let name = format_args!("encoder.{at}");
            x = graph.within(name, |graph| block.forward(graph, x, scratch))?;
            blocks.push(x);
        }
        let output = self.norm.forward(graph, x)?;
        graph.name(output, "encoder.norm")?;
        Ok(Taps {
            conv1,
            frontend,
            blocks,
            output,
        })
    }
}
