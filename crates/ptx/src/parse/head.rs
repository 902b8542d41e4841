//! The head of a module: `.version`, `.target` and `.address_size`, in this order and once.

use super::{Parser, Result, lex::Kind};
use crate::{
    diag::Code,
    target::{PtxVersion, Target},
};

/// What of the head was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Head {
    /// Nothing yet.
    #[default]
    Start,
    /// `.version`.
    Version,
    /// `.target`.
    Target,
    /// `.address_size`.
    Size,
    /// Something that is no part of the head.
    Done,
}

/// Further words of `.target`.
const OPTIONS: &[&str] = &["texmode_unified", "texmode_independent", "debug"];

impl Parser<'_> {
    /// Whether what stands here is part of the head, which is then taken.
    pub(super) fn head(&mut self) -> Result<bool> {
        let name = match self.token().text {
            ".version" => ".version",
            ".target" => ".target",
            ".address_size" => ".address_size",
            _ => {
                self.behind_head()?;
                return Ok(false);
            }
        };
        let before = self.head;
        let rule = match (name, before) {
            (".version", Head::Start) => None,
            (".version", Head::Done) => Some("begins a second module, a file holds one: split it"),
            (".version", _) => Some("stands twice"),
            (".target", Head::Start) => Some("must come behind `.version`"),
            (".target", Head::Version | Head::Target) => None,
            (".address_size", Head::Target) => None,
            (".address_size", Head::Start | Head::Version) => {
                Some("must come behind `.version` and `.target`")
            }
            (_, Head::Done) => Some("must stand at the head of the module"),
            (_, _) => Some("stands twice"),
        };
        let span = self.here();
        match name {
            ".version" => self.version(),
            ".target" => self.target(),
            _ => self.address_size(),
        }?;
        match rule {
            Some(rule) => Err(self.fault(Code::Head { name, rule }, span)),
            None => Ok(true),
        }
    }

    /// What is no part of the head may only follow it.
    fn behind_head(&mut self) -> Result<()> {
        let before = std::mem::replace(&mut self.head, Head::Done);
        let missing = match before {
            Head::Start if !self.saw.0 => ".version",
            Head::Start | Head::Version if !self.saw.1 => ".target",
            _ => return Ok(()),
        };
        // Told once: what is here is read all the same.
        self.saw = (true, true);
        let code = Code::MissingDirective { name: missing };
        self.found.push(*self.fault(code, self.here()));
        Ok(())
    }

    fn version(&mut self) -> Result<()> {
        self.advance();
        let span = self.here();
        let token = self.token();
        let figures = token.text.split_once('.');
        let version = figures.and_then(|(major, minor)| {
            Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
        });
        let version = version
            .filter(|_| token.kind == Kind::Number)
            .ok_or_else(|| self.unexpected("a version such as 8.0"))?;
        self.advance();
        (self.saw.0, self.head) = (true, self.head.max(Head::Version));
        if version > PtxVersion::NEWEST {
            let newest = PtxVersion::NEWEST;
            let what = format!("PTX version {version}, the newest known here is {newest}");
            return Err(self.fault(Code::Unsupported { what }, span));
        }
        if !version.exists() {
            return Err(self.fault(Code::UnknownVersion { version }, span));
        }
        (self.module.version, self.module.version_span) = (version, span);
        Ok(())
    }

    fn target(&mut self) -> Result<()> {
        self.advance();
        let span = self.here();
        let name = self.ident("a target")?;
        (self.saw.1, self.head) = (true, self.head.max(Head::Target));
        self.module.span = span;
        let mut options = Vec::new();
        let mut fault = None;
        while self.eat(",") {
            let span = self.here();
            let option = self.ident("a target option")?;
            if !OPTIONS.contains(&option) {
                let code = if option.parse::<Target>().is_ok() {
                    let what = "a module for several targets".to_owned();
                    Code::Unsupported { what }
                } else {
                    let name = option.to_owned();
                    Code::UnknownTargetOption { name }
                };
                fault = fault.or(Some(self.fault(code, span)));
            }
            options.push(option.to_owned().into());
        }
        self.module.target_options = options;
        // Cards of before 2010, whose PTX is another language.
        if matches!(name, "sm_10" | "sm_11" | "sm_12" | "sm_13") {
            let what = format!("target {name}");
            return Err(self.fault(Code::Unsupported { what }, span));
        }
        self.module.target = name.parse().map_err(|_| {
            let name = name.to_owned();
            self.fault(Code::UnknownTarget { name }, span)
        })?;
        fault.map_or(Ok(()), Err)
    }

    fn address_size(&mut self) -> Result<()> {
        self.advance();
        let span = self.here();
        match self.small()? {
            64 => {}
            32 => {
                let code = Code::ShortAddresses;
                self.found.push(*self.fault(code, span));
            }
            other => {
                let code = Code::Syntax {
                    expected: "64",
                    found: other.to_string(),
                };
                return Err(self.fault(code, span));
            }
        }
        self.head = self.head.max(Head::Size);
        Ok(())
    }
}
