//! The linker as programs have it: pieces come one by one, then there is code.

use crate::{
    fatbin::wrap,
    host::JitOptions,
    link::{link_texts, unwrapped},
    module::compile,
    settings::Settings,
    status::Status,
    table::lock,
};
use std::sync::Mutex;
use warpsmith_ptx::parse::parse;

/// A linker: pieces of PTX, and the code made of them.
pub(crate) struct Link {
    pub(crate) options: JitOptions,
    pub(crate) state: Mutex<LinkState>,
}

#[derive(Default)]
pub(crate) struct LinkState {
    pieces: Vec<(String, String)>,
    /// Lives as long as the linker: programs get a pointer to it.
    code: Option<Box<[u8]>>,
    log: String,
}

impl Link {
    /// Takes a piece of PTX, or code of ours.
    pub(crate) fn add(&self, ptx: &[u8], name: &str) -> Result<(), Status> {
        let text = std::str::from_utf8(unwrapped(ptx)).map_err(|_| Status::InvalidPtx)?;
        if let Err(found) = parse(text) {
            let lines: Vec<String> = found
                .iter()
                .map(|one| format!("error: {name}: {one}"))
                .collect();
            self.refuse(&lines.join("\n"), &mut lock(&self.state));
            return Err(Status::InvalidPtx);
        }
        lock(&self.state)
            .pieces
            .push((name.to_owned(), text.to_owned()));
        Ok(())
    }

    /// Address and length of the code.
    pub(crate) fn complete(
        &self,
        settings: Option<&Settings>,
    ) -> Result<(*const u8, usize), Status> {
        let mut state = lock(&self.state);
        if let Some(code) = &state.code {
            return Ok((code.as_ptr(), code.len()));
        }
        let linked = link_texts(&state.pieces);
        let text = linked.map_err(|log| {
            self.refuse(&log, &mut state);
            Status::InvalidPtx
        })?;
        if let Some(settings) = settings {
            compile(settings, text.as_bytes(), &self.options)?;
        }
        let code = state.code.insert(wrap(&text).into_boxed_slice());
        Ok((code.as_ptr(), code.len()))
    }

    /// The code, when it is complete.
    pub(crate) fn code(&self) -> Vec<u8> {
        lock(&self.state)
            .code
            .as_deref()
            .map(<[u8]>::to_vec)
            .unwrap_or_default()
    }

    /// Why something was refused.
    pub(crate) fn log(&self) -> String {
        lock(&self.state).log.clone()
    }

    fn refuse(&self, log: &str, state: &mut LinkState) {
        self.options.tell(log);
        crate::report::refused(log);
        state.log.push_str(log);
    }
}
