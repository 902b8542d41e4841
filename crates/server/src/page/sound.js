// Sounds as WAV files, and transcripts as files.

export const RATE = 16000;

// A WAV file of samples from -1 to 1, one channel, 16 bits.
export function wav(samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const word = (offset, text) => [...text].forEach((char, i) => view.setUint8(offset + i, char.charCodeAt(0)));
  word(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  word(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  word(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, i) => {
    view.setInt16(44 + 2 * i, Math.round(Math.max(-1, Math.min(1, sample)) * 32767), true);
  });
  return new Blob([view], { type: "audio/wav" });
}

// What the microphone recorded, whatever the browser made of it, as a WAV file.
export async function decoded(blob) {
  const context = new OfflineAudioContext(1, 1, RATE);
  const buffer = await context.decodeAudioData(await blob.arrayBuffer());
  const mixed = new Float32Array(buffer.length);
  for (let channel = 0; channel < buffer.numberOfChannels; channel += 1) {
    buffer.getChannelData(channel).forEach((sample, i) => {
      mixed[i] += sample / buffer.numberOfChannels;
    });
  }
  return wav(mixed, buffer.sampleRate);
}

export function clock(seconds, mark) {
  const all = Math.round(seconds * 1000);
  const two = (n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(all / 3600000), Math.floor(all / 60000) % 60];
  const rest = `${two(Math.floor(all / 1000) % 60)}${mark}${String(all % 1000).padStart(3, "0")}`;
  return `${two(hours)}:${two(minutes)}:${rest}`;
}

// A transcript in one of the formats.
export function written(segments, format) {
  const lines = segments.map(({ text }) => text.trim());
  if (format === "txt") return lines.map((line) => `${line}\n`).join("");
  const mark = format === "srt" ? "," : ".";
  const pieces = segments.map(({ start, end }, i) => {
    const times = `${clock(start, mark)} --> ${clock(end, mark)}`;
    return `${format === "srt" ? `${i + 1}\n` : ""}${times}\n${lines[i]}\n\n`;
  });
  return (format === "vtt" ? "WEBVTT\n\n" : "") + pieces.join("");
}

export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
