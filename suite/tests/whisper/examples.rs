//! The transcriber of the examples.

use crate::support::{folder, reference};
use transcribe::Listener;
use warpsmith::models::transcript::Format;

#[test]
fn recordings_become_subtitles_one_after_the_other() {
    let mut listener = Listener::open(&folder("tiny.en")).expect("a model");
    let mut seconds = Vec::new();
    let sound = reference("audio/jfk.wav");
    let mut subtitles = |format| {
        let text = listener.subtitles(&sound, format, |done| seconds.push(done));
        text.expect("a recording")
    };
    let srt = subtitles(Format::Srt);
    assert!(
        srt.starts_with("1\n00:00:0") && srt.contains("what your country can do for you"),
        "{srt}"
    );
    let text = subtitles(Format::Txt);
    let cues = srt.lines().filter(|line| line.contains(" --> ")).count();
    assert_eq!(cues, text.lines().count());
    assert_eq!(seconds.len(), 2);
    assert!(
        seconds
            .iter()
            .all(|seconds| (10.0..=30.0).contains(seconds)),
        "{seconds:?}"
    );
    assert!(
        listener
            .subtitles(&reference("audio/none.wav"), Format::Srt, |_| {})
            .is_err()
    );
}
