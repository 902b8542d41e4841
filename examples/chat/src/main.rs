//! `chat MODEL`: a GGUF file, or a folder with safetensors; lines from standard input are messages.

use std::{error::Error, io, path::Path};
use warpsmith::models::sampling::SamplerConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let model = std::env::args_os().nth(1).ok_or("usage: chat MODEL")?;
    let sampler = SamplerConfig {
        temperature: 0.7,
        top_p: 0.95,
        ..SamplerConfig::default()
    };
    chat::talk(
        Path::new(&model),
        &sampler,
        io::stdin().lock(),
        io::stdout().lock(),
    )?;
    Ok(())
}
