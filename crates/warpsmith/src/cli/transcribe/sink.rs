//! Where the text of one sound goes, as it comes.

use crate::cli::{files::Target, interrupt, output};
use anyhow::{Context, Result};
use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
};
use warpsmith::{
    models::whisper::transcript::Segment,
    transcript::{Format, Layout, Transcription, Writer},
};

/// One format of one sound's text.
pub(super) struct Sink {
    format: Format,
    writer: Writer,
    to: To,
    begun: bool,
}

enum To {
    /// Standard output.
    Shown,
    /// A file, which is complete after each window.
    File {
        target: Target,
        open: Option<File>,
        /// Bytes that stay as they are.
        complete: u64,
    },
}

impl Sink {
    /// Text that is shown.
    pub(super) fn shown(format: Format, layout: Layout) -> Sink {
        Sink {
            format,
            writer: Writer::new(format, layout),
            to: To::Shown,
            begun: false,
        }
    }

    /// Text that goes to a file. One that is there stays until the first segment comes.
    pub(super) fn file(format: Format, layout: Layout, target: Target) -> Sink {
        Sink {
            to: To::File {
                target,
                open: None,
                complete: 0,
            },
            ..Sink::shown(format, layout)
        }
    }

    /// Writes what came; `so_far` is all, with that.
    pub(super) fn push(&mut self, came: &[Segment], so_far: Transcription<'_>) -> Result<()> {
        if came.is_empty() {
            return Ok(());
        }
        let begin = match self.begun {
            true => "",
            false => self.writer.begin(),
        };
        match &mut self.to {
            To::Shown => {
                self.begun = true;
                // A line is shown for what was said.
                let text = match self.format {
                    Format::Txt => {
                        let said = came.iter().filter(|segment| !segment.text.is_empty());
                        self.writer.push(&said.cloned().collect::<Vec<_>>())
                    }
                    Format::Srt | Format::Vtt | Format::Tsv | Format::Json => {
                        self.writer.push(came)
                    }
                };
                output::print(&format!("{begin}{text}"))
            }
            // What goes through is written when nothing of it can change any more.
            To::File { target, .. } if target.is_stream() => Ok(()),
            To::File { target, .. } if self.format == Format::Json => {
                self.begun = true;
                let _whole = interrupt::hold();
                target.draft()?.complete(&self.format.write(so_far))?;
                Ok(())
            }
            To::File {
                target,
                open,
                complete,
            } => {
                self.begun = true;
                let text = format!("{begin}{}", self.writer.push(came));
                let pending = self.writer.pending();
                let _whole = interrupt::hold();
                match open {
                    None => *open = target.draft()?.complete(&format!("{text}{pending}"))?,
                    Some(file) => {
                        let written = append(file, *complete, &text, &pending);
                        written.with_context(|| target.cannot_write())?;
                    }
                }
                *complete += text.len() as u64;
                Ok(())
            }
        }
    }

    /// Writes the rest of `whole`; a file is made now if no segment came and the sound was heard to its end.
    pub(super) fn end(&mut self, whole: Transcription<'_>, heard: Heard) -> Result<()> {
        let began = std::mem::replace(&mut self.begun, true);
        match &self.to {
            To::Shown if !began && heard == Heard::Partly => Ok(()),
            To::Shown => {
                let begin = if began { "" } else { self.writer.begin() };
                output::print(&format!("{begin}{}", self.writer.end(whole)))
            }
            To::File { target, .. } => {
                let late = self.format == Format::Json || target.is_stream();
                let wanted = began || heard == Heard::Wholly;
                if !wanted || (began && !late) {
                    return Ok(());
                }
                let text = match self.format {
                    Format::Json => self.format.write(whole),
                    Format::Txt | Format::Srt | Format::Vtt | Format::Tsv => {
                        let begin = self.writer.begin();
                        let body = match target.is_stream() {
                            true => self.writer.push(whole.segments),
                            false => String::new(),
                        };
                        format!("{begin}{body}{}", self.writer.end(whole))
                    }
                };
                let _whole = interrupt::hold();
                target.draft()?.complete(&text)?;
                Ok(())
            }
        }
    }
}

/// How much of a sound was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// All of it.
    Wholly,
    /// What came before something ended the work.
    Partly,
}

/// Puts `text` and what may change after it behind the bytes that stay.
fn append(file: &mut File, complete: u64, text: &str, pending: &str) -> io::Result<()> {
    file.seek(SeekFrom::Start(complete))?;
    file.write_all(format!("{text}{pending}").as_bytes())?;
    file.set_len(complete + (text.len() + pending.len()) as u64)
}
