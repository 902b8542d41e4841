//! `transcribe MODEL SOUND...`: writes `SOUND.srt` beside each recording.

use std::{error::Error, fs, path::Path};
use transcribe::Listener;
use warpsmith::models::transcript::Format;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let model = arguments.next().ok_or("usage: transcribe MODEL SOUND...")?;
    let mut listener = Listener::open(Path::new(&model))?;
    for sound in arguments {
        let sound = Path::new(&sound);
        let shown = |seconds: f64| eprint!("\r{}: {seconds:.0} s", sound.display());
        let text = listener.subtitles(sound, Format::Srt, shown)?;
        eprintln!();
        fs::write(sound.with_extension("srt"), text)?;
    }
    Ok(())
}
