//! `warpsmith exec`: programs that use the driver, their outputs, what is found in their kernels, exit statuses.
//!
//! The programs are this test itself, started again with the name of a scenario.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(unsafe_code)]

use serde_json::Value;
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    process::Command,
};

/// What names a scenario.
const SCENARIO: &str = "WARPSMITH_EXEC_SCENARIO";

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The driver that the loader finds.
struct Driver(*mut c_void);

type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

impl Driver {
    fn load(name: &CStr) -> Driver {
        // SAFETY: a name; the library has no initialisers that matter.
        let library = unsafe { dlopen(name.as_ptr(), 2) };
        assert!(!library.is_null(), "a driver");
        Driver(library)
    }

    /// Calls a function whose arguments are numbers and pointers.
    fn call(&self, name: &str, args: &[u64]) -> u32 {
        let name = CString::new(name).expect("a name");
        // SAFETY: the driver's functions take numbers and pointers, at most eleven; what is too much is not looked at.
        unsafe {
            let function = dlsym(self.0, name.as_ptr());
            assert!(!function.is_null(), "{name:?}");
            let function: Call = std::mem::transmute(function);
            let a = |at: usize| args.get(at).copied().unwrap_or(0);
            function(
                a(0),
                a(1),
                a(2),
                a(3),
                a(4),
                a(5),
                a(6),
                a(7),
                a(8),
                a(9),
                a(10),
            )
        }
    }

    fn ok(&self, name: &str, args: &[u64]) {
        assert_eq!(self.call(name, args), 0, "{name}");
    }

    fn alloc(&self, bytes: u64) -> u64 {
        let mut address = 0u64;
        self.ok("cuMemAlloc_v2", &[at(&mut address), bytes]);
        address
    }

    /// Launches a kernel of one block whose parameters are words of eight bytes.
    fn launch(&self, function: u64, threads: u64, params: &[u64]) -> u32 {
        let pointers: Vec<u64> = params
            .iter()
            .map(|param| std::ptr::from_ref(param) as u64)
            .collect();
        let pointers = pointers.as_ptr() as u64;
        self.call(
            "cuLaunchKernel",
            &[function, 1, 1, 1, threads, 1, 1, 0, 0, pointers, 0],
        )
    }
}

fn at<T>(value: &mut T) -> u64 {
    std::ptr::from_mut(value) as u64
}

/// `x[t] += 1` for each thread below `n`, and a word of greeting.
const KERNELS: &str = r#".version 7.0
.target sm_70
.address_size 64
.file 1 "step.cu"
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry greet() {
  .reg .b64 %d<2>;
  mov.u64 %d1, hello;
  cvta.global.u64 %d1, %d1;
  { .param .b64 f; st.param.b64 [f], %d1; .param .b64 a; st.param.b64 [a], 0; .param .b32 r;
    call.uni (r), vprintf, (f, a); }
  ret;
}
.visible .entry inc(.param .u64 p, .param .u64 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [p];
  ld.param.u64 %d4, [n];
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %d2, %r1;
  setp.ge.u64 %p1, %d2, %d4;
  @%p1 bra DONE;
  shl.b64 %d2, %d2, 2;
  add.s64 %d3, %d1, %d2;
  .loc 1 7 3
  ld.global.u32 %r2, [%d3];
  add.u32 %r2, %r2, 1;
  .loc 1 8 3
  st.global.u32 [%d3], %r2;
DONE:
  ret;
}
"#;

/// Runs a scenario where this is the program; the test itself has nothing to do.
#[test]
fn program() {
    let Ok(scenario) = std::env::var(SCENARIO) else {
        return;
    };
    if let Some(name) = scenario.strip_prefix("runtime ") {
        return uses_runtime(name);
    }
    let cu = Driver::load(c"libcuda.so.1");
    let (mut device, mut context, mut module) = (0i32, 0u64, 0u64);
    cu.ok("cuInit", &[0]);
    cu.ok("cuDeviceGet", &[at(&mut device), 0]);
    cu.ok("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]);
    cu.ok("cuCtxSetCurrent", &[context]);
    let text = CString::new(KERNELS).expect("text");
    cu.ok("cuModuleLoadData", &[at(&mut module), text.as_ptr() as u64]);
    let function = |name: &str| {
        let mut function = 0u64;
        let name = CString::new(name).expect("a name");
        cu.ok(
            "cuModuleGetFunction",
            &[at(&mut function), module, name.as_ptr() as u64],
        );
        function
    };
    let inc = function("inc");
    match scenario.as_str() {
        "clean" => {
            let x = cu.alloc(128);
            let mut host: Vec<u32> = (0..32).collect();
            cu.ok("cuMemcpyHtoD_v2", &[x, host.as_ptr() as u64, 128]);
            assert_eq!(cu.launch(inc, 64, &[x, 32]), 0);
            cu.ok("cuMemcpyDtoH_v2", &[host.as_mut_ptr() as u64, x, 128]);
            assert!(
                host.iter().zip(1..).all(|(got, want)| *got == want),
                "{host:?}"
            );
            assert_eq!(cu.launch(function("greet"), 1, &[]), 0);
            cu.ok("cuCtxSynchronize", &[]);
            cu.ok("cuMemFree_v2", &[x]);
        }
        "over" => {
            let x = cu.alloc(124);
            cu.ok("cuMemsetD8_v2", &[x, 0, 124]);
            assert_eq!(cu.launch(inc, 32, &[x, 32]), 0);
            cu.ok("cuCtxSynchronize", &[]);
            cu.ok("cuMemFree_v2", &[x]);
        }
        "freed" => {
            let x = cu.alloc(128);
            cu.ok("cuMemsetD8_v2", &[x, 0, 128]);
            cu.ok("cuMemFree_v2", &[x]);
            assert_eq!(cu.launch(inc, 32, &[x, 32]), 0);
            cu.call("cuCtxSynchronize", &[]);
        }
        "copy" => {
            let x = cu.alloc(100);
            let mut host = [0u32; 64];
            assert_eq!(
                cu.call("cuMemcpyHtoD_v2", &[x, host.as_ptr() as u64, 104]),
                1
            );
            assert_eq!(cu.call("cuMemsetD8_v2", &[x + 96, 0, 8]), 1);
            cu.ok("cuMemFree_v2", &[x]);
            assert_eq!(
                cu.call("cuMemcpyDtoH_v2", &[host.as_mut_ptr() as u64, x, 100]),
                1
            );
        }
        "leak" => {
            cu.alloc(128);
        }
        "unset" => {
            let x = cu.alloc(128);
            assert_eq!(cu.launch(inc, 32, &[x, 32]), 0);
            let mut host = [0u32; 32];
            cu.ok("cuMemcpyDtoH_v2", &[host.as_mut_ptr() as u64, x, 128]);
            cu.ok("cuMemFree_v2", &[x]);
        }
        "wild" => {
            assert_eq!(cu.launch(inc, 1, &[64, 1]), 0);
            assert_eq!(cu.call("cuCtxSynchronize", &[]), 700);
        }
        "refused" => {
            let text = CString::new(".version 7.0\n.target sm_70\nnonsense\n").expect("text");
            let code = cu.call("cuModuleLoadData", &[at(&mut module), text.as_ptr() as u64]);
            assert_eq!(code, 218);
            let mut array = 0u64;
            assert_eq!(cu.call("cuTexRefCreate", &[at(&mut array), 0]), 801);
        }
        "three" => std::process::exit(3),
        "killed" => std::process::abort(),
        other => panic!("no scenario {other}"),
    }
}

/// A program that loads the runtime of this name.
fn uses_runtime(name: &str) {
    let name = CString::new(name).expect("a name");
    let runtime = Driver::load(&name);
    let (mut version, mut address, mut host) = (0i32, 0u64, [1u8; 64]);
    runtime.ok("cudaRuntimeGetVersion", &[at(&mut version)]);
    runtime.ok("cudaMalloc", &[at(&mut address), 64]);
    runtime.ok("cudaMemset", &[address, 7, 64]);
    let to = host.as_mut_ptr() as u64;
    runtime.ok("cudaMemcpy", &[to, address, 64, 2]);
    assert_eq!(host, [7; 64]);
    assert_eq!(runtime.call("cudaMemcpy", &[to, address, 65, 2]), 1);
    assert_eq!(runtime.call("cudaPeekAtLastError", &[]), 1);
    assert_eq!(runtime.call("cudaGetLastError", &[]), 1);
    assert_eq!(runtime.call("cudaGetLastError", &[]), 0);
    runtime.ok("cudaFree", &[address]);
    // Its memory is the driver's.
    let driver = Driver::load(c"libcuda.so.1");
    driver.ok("cuMemAlloc_v2", &[at(&mut address), 64]);
    runtime.ok("cudaFree", &[address]);
    println!("version {version}");
}

/// What a run left.
struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn exec(options: &[&str], scenario: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(["exec", "--memory", "64M"])
        .args(options)
        .arg("--");
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "program", "--nocapture"]);
    command.env(SCENARIO, scenario);
    let output = command.output().expect("the program runs");
    Ran {
        status: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

#[test]
fn a_program_without_faults_prints_and_ends_as_it_does() {
    for options in [&[][..], &["--check"], &["--check", "--schedules", "3"]] {
        let ran = exec(options, "clean");
        assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("hello\n"), "{}", ran.out);
        let told = if options.is_empty() {
            ""
        } else {
            "warpsmith: nothing was found\n"
        };
        assert_eq!(ran.err, told);
    }
    assert_eq!(exec(&[], "three").status, 3);
    assert_eq!(exec(&["--check"], "three").status, 3);
    // An abort is signal 6.
    assert_eq!(exec(&[], "killed").status, 134);
}

#[test]
fn a_program_finds_the_runtime_of_either_version() {
    for (name, version) in [("libcudart.so.12", 12090), ("libcudart.so.13", 13000)] {
        let ran = exec(&[], &format!("runtime {name}"));
        assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
        let told = format!("version {version}\n");
        assert!(ran.out.contains(&told), "{}", ran.out);
    }
    let ran = exec(&["--check"], "runtime libcudart.so.13");
    let told = "a copy or fill of 65 bytes from byte 0 of a block of 64 bytes";
    assert!(ran.err.contains(told), "{}{}", ran.out, ran.err);
    assert_eq!(ran.status, 1, "{}", ran.err);
}

#[test]
fn a_finding_names_the_line_the_thread_the_allocation_and_the_launch() {
    let ran = exec(&["--check"], "over");
    assert_eq!(ran.status, 1, "{}{}", ran.out, ran.err);
    for part in [
        "error[oob_global]: 4 bytes at 0x",
        "outside of every allocation",
        "it was allocated at",
        "; launch 1",
        "from step.cu:7",
        "from step.cu:8",
        "thread (31, 0, 0)",
        "124 bytes",
        "st.global.u32 [%d3], %r2;",
        "warpsmith: 2 findings",
    ] {
        assert!(ran.err.contains(part), "{part} in\n{}", ran.err);
    }
}

#[test]
fn each_kind_of_misuse_of_memory_is_found() {
    for (scenario, kind) in [
        ("freed", "error[use_after_free]"),
        ("leak", "error[leak]"),
        ("unset", "error[uninit_global]"),
    ] {
        let ran = exec(&["--check"], scenario);
        assert!(ran.err.contains(kind), "{scenario}: {}{}", ran.out, ran.err);
        assert_eq!(ran.status, 1, "{scenario}: {}", ran.err);
    }
    let ran = exec(&["--check"], "copy");
    for part in [
        "a copy or fill of 104 bytes from byte 0 of a block of 100 bytes on, allocated at",
        "a copy or fill of 8 bytes from byte 96 of a block of 100 bytes on, allocated at",
        "where no card has memory now; called at",
        "warpsmith: 3 findings",
    ] {
        assert!(ran.err.contains(part), "{part} in\n{}{}", ran.out, ran.err);
    }
    // What is not asked for is not looked for.
    let ran = exec(&["--check=race_global"], "leak");
    assert_eq!(
        (ran.status, &*ran.err),
        (0, "warpsmith: nothing was found\n")
    );
}

#[test]
fn a_fault_is_told_without_a_check() {
    let ran = exec(&[], "wild");
    assert!(
        ran.err
            .contains("access of 4 bytes out of bounds at 0x40 in inc"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("from step.cu:7"), "{}", ran.err);
    assert_eq!(ran.status, 1, "{}", ran.err);
}

#[test]
fn what_is_refused_is_told_with_its_line() {
    let ran = exec(&[], "refused");
    assert!(
        ran.err.contains("a module was refused:\nerror: line 3:1"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("not supported: cuTexRefCreate"),
        "{}",
        ran.err
    );
    assert_eq!(ran.status, 0, "{}", ran.err);
}

#[test]
fn reports_are_json_and_sarif_and_calls_are_traced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (report, trace) = (path("found.json"), path("calls.txt"));
    let ran = exec(
        &[
            "--check", "--format", "json", "--report", &report, "--trace", &trace,
        ],
        "over",
    );
    assert_eq!(ran.status, 1, "{}", ran.err);
    let json: Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    assert!(json.to_string().contains("oob_global"), "{json}");
    let calls = fs::read_to_string(trace).expect("a trace");
    assert!(
        calls.contains("cuInit = 0 (") && calls.contains("cuLaunchKernel = 0 ("),
        "{calls}"
    );
    let report = path("found.sarif");
    let ran = exec(
        &["--check", "--format", "sarif", "--report", &report],
        "over",
    );
    assert_eq!(ran.status, 1, "{}", ran.err);
    let sarif: Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif.to_string().contains("step.cu"), "{sarif}");
}

#[test]
fn what_cannot_be_started_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["exec", "--", "/nothing/here"])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.starts_with("error: cannot run /nothing/here"),
        "{said}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["exec", "--", "true"])
        .env("WARPSMITH_LIBCUDA", "/nothing/here.so")
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("cannot copy the driver library /nothing/here.so"),
        "{said}"
    );
}

#[test]
fn the_assembler_passes_good_ptx_on_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptxas = folder.path().join("ptxas");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_warpsmith"), &ptxas).expect("a link");
    let (good, bad, out) = (
        folder.path().join("a.ptx"),
        folder.path().join("b.ptx"),
        folder.path().join("a.o"),
    );
    fs::write(&good, KERNELS).expect("written");
    fs::write(
        &bad,
        KERNELS.replace("add.u32 %r2, %r2, 1;", "add.u32 %r2, %r2;"),
    )
    .expect("written");
    let run = |input: &std::path::Path| {
        let mut command = Command::new(&ptxas);
        command
            .args(["-v", "--gpu-name=sm_80"])
            .arg(input)
            .arg("-o")
            .arg(&out);
        command.output().expect("it runs")
    };
    assert!(run(&good).status.success());
    assert_eq!(fs::read_to_string(&out).expect("a file"), KERNELS);
    let output = run(&bad);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("b.ptx: line 29:"), "{said}");
    let version = Command::new(&ptxas)
        .arg("--version")
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&version.stdout).contains("release 12.9"));
}
