//! Servers in processes of their own.

use crate::{Failed, http};
use std::{
    fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What is tried.
#[derive(clap::Args)]
pub(crate) struct Subject {
    /// The program `warpsmith`, built in release.
    #[arg(long)]
    pub(crate) program: PathBuf,
    /// The GGUF file.
    #[arg(long)]
    pub(crate) model: PathBuf,
}

/// A server that ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is no loss.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// `warpsmith serve` with more arguments; ready when this returns.
    pub(crate) fn start(subject: &Subject, args: &[String]) -> Result<Server, Failed> {
        let mut child = Command::new(&subject.program)
            .args(["serve", "--device", "virtual", "--port", "0", "--model"])
            .arg(&subject.model)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim_end().rsplit_once("http://");
        match address.and_then(|(_, address)| address.parse().ok()) {
            Some(address) => Ok(Server { child, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("no address: {line:?}").into())
            }
        }
    }

    /// llama.cpp's server, of the `server` extra of llama-cpp-python.
    pub(crate) fn llama_cpp(python: &Path, model: &Path, threads: usize) -> Result<Server, Failed> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let threads = threads.to_string();
        let child = Command::new(python)
            .args([
                "-m",
                "llama_cpp.server",
                "--host",
                "127.0.0.1",
                "--n_ctx",
                "2048",
            ])
            // A new request would break off the one that is answered.
            .args(["--interrupt_requests", "false", "--verbose", "false"])
            .args(["--n_threads", &threads, "--n_threads_batch", &threads])
            .args(["--port", &port.to_string(), "--model"])
            .arg(model)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server { child, address };
        let begun = Instant::now();
        while http::ask(address, "GET", "/v1/models", b"").is_err() {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("llama.cpp's server ended with {status}").into());
            }
            if begun.elapsed() > Duration::from_secs(120) {
                return Err("llama.cpp's server does not answer".into());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// Memory of the process, in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64, Failed> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(kib.ok_or("no VmRSS")?.parse()?)
    }

    /// The sum of a figure of `/metrics` over its labels.
    pub(crate) fn figure(&self, name: &str) -> Result<f64, Failed> {
        let answer = http::ask(self.address, "GET", "/metrics", b"")?;
        let text = String::from_utf8(answer.body)?;
        let named = text.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        let values = named.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        Ok(values.sum())
    }
}
