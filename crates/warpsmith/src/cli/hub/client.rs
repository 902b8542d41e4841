//! What the hub is asked: the files of a repository, and their bytes.

use super::cache::{Cache, Repository, is_commit, is_set};
use crate::cli::output::{Unit, bar, printable};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    env, fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    sync::Arc,
    time::Duration,
};
use ureq::{
    Agent, Body,
    config::RedirectAuthHeaders,
    http::{HeaderMap, Response},
    tls::{Certificate, RootCerts, TlsConfig},
};

/// Where models are, unless `HF_ENDPOINT` says otherwise.
const ENDPOINT: &str = "https://huggingface.co";
/// Seconds until a connection is there, and until there is an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a list of files.
const MOST_LIST: u64 = 64 << 20;

/// That the hub cannot be reached at all.
#[derive(Debug)]
pub(super) struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// The files of a repository at a commit.
pub(super) struct Listed {
    pub(super) commit: String,
    pub(super) files: Vec<String>,
}

/// What the hub says of a repository.
#[derive(Deserialize)]
struct Info {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// A connection to the hub.
pub(super) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

impl Client {
    /// By `HF_ENDPOINT`, and `HF_TOKEN` or the token of a login.
    pub(super) fn of_environment(cache: &Cache) -> Result<Client> {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = text("HF_ENDPOINT").unwrap_or(ENDPOINT.to_owned());
        if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
            let shown = printable(&endpoint);
            bail!("HF_ENDPOINT is {shown}, expected an address that begins with https://");
        }
        let login = || {
            let place = text("HF_TOKEN_PATH").map_or_else(|| cache.home.join("token"), Into::into);
            let token = fs::read_to_string(place).ok()?;
            Some(token.trim().to_owned()).filter(|token| !token.is_empty())
        };
        let token = match is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            true => None,
            false => text("HF_TOKEN").or_else(login),
        };
        let provider = Arc::new(rustls_graviola::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(roots())
            .unversioned_rustls_crypto_provider(provider);
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            // What a mirror or a store elsewhere is sent to does not get the token.
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .user_agent(concat!("warpsmith/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Client {
            agent: config.new_agent(),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// The files of a repository at the end of a branch.
    pub(super) fn list(&self, repository: &str, branch: &str) -> Result<Listed> {
        let address = format!(
            "{}/api/models/{repository}/revision/{branch}",
            self.endpoint
        );
        let response = self.agent.get(&address);
        let response = self.answer(self.with_token(response).call(), None)?;
        let mut text = String::new();
        let body = response.into_body().into_reader();
        body.take(MOST_LIST)
            .read_to_string(&mut text)
            .context("its list of files broke off")?;
        let info: Info =
            serde_json::from_str(&text).context("its list of files is not as expected")?;
        if !is_commit(&info.sha) {
            bail!(
                "its list of files is of no commit: {}",
                printable(&info.sha)
            );
        }
        let names = info.siblings.into_iter().map(|file| file.rfilename);
        // Names become paths.
        let is_plain = |name: &String| {
            let mut parts = name.split('/');
            parts.all(|part| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']))
        };
        Ok(Listed {
            commit: info.sha,
            files: names.filter(is_plain).collect(),
        })
    }

    /// Fetches a file into the cache, going on with what is there of it.
    pub(super) fn fetch(
        &self,
        repository: &str,
        commit: &str,
        file: &str,
        folder: &Repository,
    ) -> Result<()> {
        let path: Vec<String> = file.split('/').map(quoted).collect();
        let address = format!(
            "{}/{repository}/resolve/{commit}/{}",
            self.endpoint,
            path.join("/")
        );
        // The first answer tells what the file is; where its bytes are is another address, often elsewhere.
        let first = self
            .agent
            .head(&address)
            .config()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        let first = self.answer(self.with_token(first).call(), Some(file))?;
        let headers = first.headers();
        let etag = text(headers, "x-linked-etag").or_else(|| text(headers, "etag"));
        let etag = etag.map(|etag| etag.trim_start_matches("W/").trim_matches('"').to_owned());
        let etag = etag.filter(|etag| {
            !etag.is_empty()
                && etag
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        });
        let etag = etag.with_context(|| format!("{file} has no etag that says what it is"))?;
        let size = text(headers, "x-linked-size");
        let size = size.or_else(|| {
            (!first.status().is_redirection())
                .then(|| text(headers, "content-length"))
                .flatten()
        });
        let size: Option<u64> = size.and_then(|size| size.parse().ok());
        let blob = folder.blob(&etag);
        if !blob.exists() {
            let parent = blob.parent().context("a file has a folder")?;
            fs::create_dir_all(parent).context("cannot write to the cache")?;
            let draft = parent.join(format!("{etag}.incomplete"));
            let opened = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&draft);
            let mut draft_file = opened.context("cannot write to the cache")?;
            // Another program that fetches the same is waited for.
            draft_file
                .lock()
                .context("cannot lock a file of the cache")?;
            if !blob.exists() {
                self.bytes(&address, file, size, &mut draft_file)?;
                fs::rename(&draft, &blob).context("cannot write to the cache")?;
            }
        }
        folder.link(commit, file, &etag)
    }

    /// The bytes of a file behind those that are there.
    fn bytes(&self, address: &str, file: &str, size: Option<u64>, draft: &mut File) -> Result<()> {
        let mut have = draft
            .seek(SeekFrom::End(0))
            .context("cannot write to the cache")?;
        if size.is_none_or(|size| have > size) {
            have = 0;
        }
        let bar = bar("fetching", size.unwrap_or(0), Unit::Bytes);
        if size != Some(have) || have == 0 {
            let mut request = self.with_token(self.agent.get(address));
            if have > 0 {
                request = request.header("Range", format!("bytes={have}-"));
            }
            let response = self.answer(request.call(), Some(file))?;
            if response.status().as_u16() != 206 {
                have = 0;
            }
            draft
                .set_len(have)
                .and_then(|()| draft.seek(SeekFrom::Start(have)))
                .context("cannot write to the cache")?;
            let mut body = response.into_body().into_reader();
            let mut piece = vec![0; 1 << 18];
            loop {
                let n = match body.read(&mut piece) {
                    Ok(0) => break,
                    Ok(n) => n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        return Err(error).with_context(|| {
                            format!("{file} broke off after {have} bytes; again goes on there")
                        });
                    }
                };
                draft
                    .write_all(&piece[..n])
                    .context("cannot write to the cache")?;
                have += n as u64;
                bar.set_position(have);
            }
        }
        bar.finish_and_clear();
        if let Some(size) = size.filter(|size| *size != have) {
            bail!("{file} broke off after {have} of {size} bytes; again goes on there");
        }
        draft.sync_all().context("cannot write to the cache")
    }

    fn with_token<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// An answer that is fine, or what it says.
    fn answer(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
        file: Option<&str>,
    ) -> Result<Response<Body>> {
        let response = answer
            .map_err(|error| Unreachable(format!("cannot reach {}: {error}", self.endpoint)))?;
        let status = response.status();
        if !status.is_client_error() && !status.is_server_error() {
            return Ok(response);
        }
        let code = text(response.headers(), "x-error-code").unwrap_or_default();
        let access = match self.token {
            Some(_) => "the token that is used has no access",
            None => "HF_TOKEN has the token of somebody with access",
        };
        match (code.as_str(), status.as_u16(), file) {
            ("GatedRepo", ..) => bail!(
                "its owner asks for consent first at {}: {access}",
                self.endpoint
            ),
            ("EntryNotFound", ..) | (_, 404, Some(_)) => {
                bail!("there is no file {} in it", file.unwrap_or_default())
            }
            ("RepoNotFound", ..) | (_, 401 | 404, _) => bail!(
                "there is no such repository at {}, or it is private: {access}",
                self.endpoint
            ),
            (_, 403, _) => bail!("{} refuses: {access}", self.endpoint),
            _ => bail!("{} answers {status}", self.endpoint),
        }
    }
}

/// Whom the machine trusts (`SSL_CERT_FILE` says it, too), or Mozilla where it does not say.
fn roots() -> RootCerts {
    let native = rustls_native_certs::load_native_certs().certs;
    let native = native
        .iter()
        .map(|der| Certificate::from_der(der).to_owned());
    let native: Vec<Certificate<'static>> = native.collect();
    match native.is_empty() {
        true => RootCerts::WebPki,
        false => RootCerts::Specific(Arc::new(native)),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// A part of a path as addresses spell it.
fn quoted(part: &str) -> String {
    let mut quoted = String::new();
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                quoted.push(char::from(byte))
            }
            _ => quoted += &format!("%{byte:02X}"),
        }
    }
    quoted
}
