//! Persistent runs of a small graph: a table of embeddings, one product, a greedy draw.

use std::sync::Arc;
use warpsmith_device::{Device, Fresh, Selector, Settings, Stream};
use warpsmith_formats::quant::WeightType;
use warpsmith_graph::{
    End, Error, Graph, MatMul, Persistent, PersistentShape, Plan, Precision, Prefetch,
    SamplerState, Schedule, Until, Weights,
};
use warpsmith_library::{epilogue::Activation, weights::pack};

const VOCAB: u32 = 97;
const WIDTH: u32 = 36;
const CONTEXT: u32 = 5000;

struct Chain {
    stream: Stream,
    state: SamplerState,
    plan: Plan,
}

/// A chain of tokens in which each decides the next.
fn chain(device: &Device) -> Result<Chain, Error> {
    let stream = device.stream()?;
    let matrix = |seed: u32| {
        let number = |at: u32| {
            let mixed = (at + 1).wrapping_mul(2_654_435_761 + seed).rotate_left(13);
            (mixed % 2001) as f32 / 1000.0 - 1.0
        };
        let bytes: Vec<u8> = (0..VOCAB * WIDTH)
            .flat_map(|at| number(at).to_le_bytes())
            .collect();
        let packed = pack(WeightType::F32, &bytes, VOCAB, WIDTH).expect("whole rows");
        Weights::upload(&stream, "w", &packed).map(Arc::new)
    };
    let (table, head) = (matrix(2)?, matrix(8)?);
    let mut state = SamplerState::new(&stream, 8, 8)?;
    stream.upload(&mut state.floats, &[0.0, 1.0, 0.0, 1.0])?;
    stream.upload(&mut state.integers, &[0, 0, 0])?;
    let mut graph = Graph::new();
    let ids = graph.ids(&state.token);
    let x = graph.embed(&table, ids)?;
    let logits = graph.matmul(MatMul {
        x,
        weights: head,
        bias: None,
        activation: Activation::None,
        residual: None,
    })?;
    graph.draw(logits, &Arc::new(state.sampler()))?;
    let plan = Plan::new(&stream, &graph, Precision::Exact)?;
    Ok(Chain {
        stream,
        state,
        plan,
    })
}

impl Chain {
    /// Goes back to the first token, at `position`.
    fn begin(&mut self, position: u32) -> Result<(), Error> {
        let Chain { stream, state, .. } = self;
        stream.upload(&mut state.token, &[3])?;
        stream.upload(&mut state.position, &[position])?;
        stream.upload(&mut state.length, &[position + 1])?;
        Ok(())
    }

    /// The tokens of single steps.
    fn steps(&mut self, count: usize) -> Result<Vec<u32>, Error> {
        self.begin(0)?;
        let mut tokens = Vec::new();
        for _ in 0..count {
            self.plan.run(&self.stream)?;
            tokens.push(self.stream.download(&self.state.token)?.wait()?[0]);
        }
        Ok(tokens)
    }

    fn persistent(&self, ends: &[u32], shape: PersistentShape) -> Result<Persistent, Error> {
        let until = Until {
            token: &self.state.token,
            position: &self.state.position,
            ends,
            context: CONTEXT,
            most: CONTEXT,
        };
        Persistent::new(&self.stream, &self.plan, &until, shape)
    }
}

fn device(selector: &str) -> Device {
    let selector: Selector = selector.parse().expect("a device");
    let settings = Settings {
        fresh: Fresh::Poisoned,
        ..Settings::default()
    };
    Device::open_with(&selector, settings).expect("a virtual GPU")
}

fn run(kernel: &mut Persistent, tokens: u32) -> Result<(Vec<u32>, Option<End>, u32), Error> {
    let mut running = kernel.start(tokens)?;
    let mut told = Vec::new();
    while let Some(token) = running.token()? {
        told.push(token);
    }
    let (end, made) = running.finish()?;
    Ok((told, end, made))
}

#[test]
fn a_run_makes_the_tokens_of_single_steps_and_says_why_it_ended() -> Result<(), Error> {
    let mut chain = chain(&device("virtual:sms=3"))?;
    let want = chain.steps(60)?;
    assert!(want.iter().any(|token| *token != want[0]), "{want:?}");
    for (schedule, prefetch, pieces) in [
        (Schedule::Static, None, 0),
        (Schedule::Claimed, Some(Prefetch::Off), 0),
        // A group of f32 is eight pieces of 16 bytes.
        (Schedule::Static, Some(Prefetch::On), 8),
        (Schedule::Claimed, Some(Prefetch::On), 8),
    ] {
        let shape = PersistentShape {
            threads: 64,
            ctas: 0,
            schedule: Some(schedule),
            prefetch,
        };
        let mut kernel = chain.persistent(&[], shape)?;
        assert_eq!(kernel.report().ctas, 3);
        assert_eq!(kernel.report().prefetched, pieces * 16 * 64);
        assert_eq!(kernel.report().steps, chain.plan.report().launches);
        chain.begin(0)?;
        let (told, end, made) = run(&mut kernel, 60)?;
        assert_eq!((told, end, made), (want.clone(), Some(End::Tokens), 60));
        // The next run goes on where this one ended.
        chain.begin(0)?;
        run(&mut kernel, 7)?;
        let (told, end, _) = run(&mut kernel, 9)?;
        assert_eq!((&told[..], end), (&want[7..16], Some(End::Tokens)));
        assert_eq!(run(&mut kernel, 0)?, (vec![], Some(End::Tokens), 0));
        // Three positions are left.
        chain.begin(CONTEXT - 3)?;
        let (told, end, _) = run(&mut kernel, 60)?;
        assert_eq!((&told[..], end), (&want[..3], Some(End::Context)));
        let mut ending = chain.persistent(&[VOCAB, want[5]], shape)?;
        chain.begin(0)?;
        let (told, end, _) = run(&mut ending, 60)?;
        let first = want.iter().position(|token| *token == want[5]).unwrap_or(0);
        assert_eq!((&told[..], end), (&want[..=first], Some(End::Token)));
    }
    Ok(())
}

#[test]
fn the_token_being_made_when_the_host_says_stop_is_the_last() -> Result<(), Error> {
    let mut chain = chain(&device("virtual:sms=2"))?;
    let mut kernel = chain.persistent(&[], PersistentShape::default())?;
    let mut ends = [0; 2];
    for wanted in (0..40).map(|at| at % 7) {
        chain.begin(0)?;
        let mut running = kernel.start(CONTEXT)?;
        for _ in 0..wanted {
            running.token()?;
        }
        running.stop();
        // The flag is there: what is told now was made before it or is being made.
        let told = running.made();
        let (end, made) = running.finish()?;
        assert_eq!(end, Some(End::Stopped));
        assert!((told..=told + 1).contains(&made), "{made} of {told}");
        assert!(made >= wanted.max(1), "{made} of {wanted}");
        ends[(made - told) as usize] += 1;
    }
    println!("ended at the token told, and at the one being made: {ends:?}");
    // Dropping a run, and the kernel with it, ends it, too.
    chain.begin(0)?;
    kernel.start(CONTEXT)?.token()?;
    drop(kernel);
    chain.stream.synchronize()?;
    let want = chain.steps(4)?;
    let mut again = chain.persistent(&[], PersistentShape::default())?;
    chain.begin(0)?;
    assert_eq!(run(&mut again, 4)?.0, want);
    Ok(())
}

#[test]
fn a_target_without_asynchronous_copies_fetches_nothing_ahead() -> Result<(), Error> {
    let mut chain = chain(&device("virtual:sm75,sms=2"))?;
    let want = chain.steps(8)?;
    let shape = PersistentShape {
        prefetch: Some(Prefetch::On),
        ..PersistentShape::default()
    };
    let mut kernel = chain.persistent(&[], shape)?;
    assert_eq!(kernel.report().prefetched, 0);
    chain.begin(0)?;
    assert_eq!(run(&mut kernel, 8)?.0, want);
    // Devices with many multiprocessors fetch unless told otherwise.
    for (selector, prefetched) in [
        ("virtual:sms=80,kernels=card", true),
        ("virtual:sm75,sms=80,kernels=card", false),
        ("virtual:sms=80", false),
    ] {
        let chain = self::chain(&device(selector))?;
        let kernel = chain.persistent(&[], PersistentShape::default())?;
        assert_eq!(kernel.report().prefetched > 0, prefetched, "{selector}");
    }
    Ok(())
}

#[test]
fn shapes_that_do_not_run_are_refused() -> Result<(), Error> {
    let chain = chain(&device("virtual:sms=2"))?;
    let shape = PersistentShape::default();
    let many = chain.persistent(&[], PersistentShape { ctas: 3, ..shape });
    assert!(matches!(many, Err(Error::Residency { ctas: 3, most: 2 })));
    for threads in [16, 48, 96, 2048] {
        let odd = chain.persistent(&[], PersistentShape { threads, ..shape });
        assert!(matches!(odd, Err(Error::Launch(_))), "{threads}");
    }
    Ok(())
}
