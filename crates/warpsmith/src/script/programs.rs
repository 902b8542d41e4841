//! What the virtual GPU makes of the kernels of a script, without a run.

use super::{Error, Script, Settings, run::Run};

impl Script {
    /// The programs of its launches as text, each kernel once for each shape of its blocks. Arguments are not looked at,
    /// and nothing is run.
    ///
    /// # Errors
    /// [`Error`] where a launch could not begin: a file, its PTX, the kernel's name, the shape, or an instruction.
    pub fn programs(&self, settings: &Settings) -> Result<String, Error> {
        let order = settings.seed.or((settings.schedules > 0).then_some(0));
        let mut run = Run::new(self, settings, order, false);
        let text = self.dumped(&mut run);
        text.map_err(|error| error.in_text(&self.text))
    }

    fn dumped(&self, run: &mut Run<'_>) -> Result<String, Error> {
        let bench = run.bench()?;
        let mut known = Vec::new();
        let mut out = String::new();
        for (at, spec) in self.launches.iter().enumerate() {
            let (kernel, _) = run.kernel(&bench, at, spec)?;
            let key = (&spec.kernel, spec.block);
            if known.contains(&key) {
                continue;
            }
            if !known.is_empty() {
                out.push('\n');
            }
            known.push(key);
            out.push_str(&kernel.dump(spec.block, run.text())?);
        }
        Ok(out)
    }
}
