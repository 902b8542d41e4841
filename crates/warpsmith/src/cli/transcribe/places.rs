//! Which files the texts of sounds go to.

use super::{STDIN, sink::Sink};
use crate::cli::{files::Files, output};
use anyhow::{Result, anyhow, bail};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};
use warpsmith::transcript::{Format, Layout};

/// Where texts go: each sound has files of its own, or all have standard output.
pub(super) struct Places<'a> {
    folder: Option<&'a Path>,
    formats: Vec<Format>,
    layout: Layout,
    /// Names that have their sound.
    taken: BTreeMap<OsString, PathBuf>,
}

impl<'a> Places<'a> {
    /// Makes the folder, and sees that files can be made in it before anything is listened to.
    ///
    /// # Errors
    /// A folder that cannot be written to; texts that would be one on standard output.
    pub(super) fn new(
        folder: Option<&'a Path>,
        formats: Vec<Format>,
        layout: Layout,
        sounds: usize,
    ) -> Result<Places<'a>> {
        match (folder, &formats[..]) {
            (Some(folder), _) => output::writable(folder)?,
            (None, [Format::Txt]) => {}
            (None, [format]) if sounds > 1 => {
                let name = format.extension();
                bail!("{sounds} sounds as {name} need --output-dir: together they are no {name}");
            }
            (None, [_]) => {}
            (None, _) => bail!("several formats need --output-dir"),
        }
        Ok(Places {
            folder,
            formats,
            layout,
            taken: BTreeMap::new(),
        })
    }

    /// Where the text of a sound goes.
    ///
    /// # Errors
    /// Files of another sound, of the model or that are sounds; what cannot be written.
    pub(super) fn of(&mut self, sound: &Path, files: &mut Files) -> Result<Vec<Sink>> {
        let Some(folder) = self.folder else {
            return Ok(vec![Sink::shown(self.formats[0], self.layout)]);
        };
        let stem = match sound == Path::new(STDIN) {
            true => "stdin".into(),
            false => sound
                .file_stem()
                .ok_or_else(|| anyhow!("a file without a name"))?
                .to_owned(),
        };
        if let Some(other) = self.taken.get(&stem) {
            bail!(
                "its text would replace that of {}, give it another name",
                other.display()
            );
        }
        let mut sinks = Vec::new();
        for format in &self.formats {
            let mut name = stem.clone();
            name.push(".");
            name.push(format.extension());
            let target = files.writes("its text", &folder.join(name))?;
            sinks.push(Sink::file(*format, self.layout, target));
        }
        self.taken.insert(stem, sound.to_owned());
        Ok(sinks)
    }
}
