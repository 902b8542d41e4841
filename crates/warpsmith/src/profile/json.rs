//! Profiles as JSON: seconds, bytes and operations as they are, nothing rounded.

use super::{Pass, Profile, Row, Total};
use crate::roof::Roof;
use serde_json::{Map, Value, json};

impl Profile {
    /// An object: `device`, `roof` (`bytes_s`, `operations_s`) and `passes`. Each pass has `name`, `runs`, `wall_s`, the
    /// sums of its rows and `rows`; each row has `op`, `name`, `kernels` with their launches, `share` of the pass's time
    /// in kernels, and like the pass `count`, `launches`, `seconds`, `weight_bytes`, `read_bytes`, `written_bytes`,
    /// `operations`, `bytes_s`, `operations_s` and `of_roof`, the least time by the time it took.
    pub fn json(&self) -> Value {
        let passes = self.passes.iter().map(|pass| pass.json(&self.roof));
        json!({
            "device": self.device,
            "roof": self.roof.json(),
            "passes": passes.collect::<Vec<_>>(),
        })
    }
}

impl Pass {
    fn json(&self, roof: &Roof) -> Value {
        let mut pass = self.total.json(roof);
        pass.insert("name".into(), json!(self.name));
        pass.insert("runs".into(), json!(self.runs));
        pass.insert("wall_s".into(), json!(self.wall));
        let rows = self.rows.iter().map(|row| {
            let Row {
                op,
                name,
                kernels,
                total,
            } = row;
            let mut fields = total.json(roof);
            fields.insert("op".into(), json!(op));
            fields.insert("name".into(), json!(name));
            fields.insert("kernels".into(), json!(kernels));
            fields.insert("share".into(), json!(self.share(row)));
            Value::Object(fields)
        });
        pass.insert("rows".into(), rows.collect());
        Value::Object(pass)
    }
}

impl Total {
    fn json(&self, roof: &Roof) -> Map<String, Value> {
        let fields = [
            ("count", json!(self.count)),
            ("launches", json!(self.launches)),
            ("seconds", json!(self.seconds)),
            ("weight_bytes", json!(self.cost.weights)),
            ("read_bytes", json!(self.cost.read)),
            ("written_bytes", json!(self.cost.written)),
            ("operations", json!(self.cost.operations)),
            ("bytes_s", json!(self.bytes_s())),
            ("operations_s", json!(self.operations_s())),
            ("of_roof", json!(self.of_roof(roof))),
        ];
        let fields = fields.into_iter();
        fields.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}
