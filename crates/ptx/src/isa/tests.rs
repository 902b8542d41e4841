//! The table: every form finds its row.

use super::*;

/// An instruction's opcode and qualifiers from `mad.wide.s32`.
fn parse(text: &str) -> (Op, Quals) {
    let mut words = text.split('.');
    let op = Op::from_name(words.next().unwrap()).unwrap_or_else(|| panic!("opcode of {text}"));
    let mut quals = Quals::new(&[]);
    for word in words {
        let qual = Qual::from_name(word).unwrap_or_else(|| panic!("`{word}` of {text}"));
        assert!(quals.push(qual), "too many in {text}");
    }
    (op, quals)
}

#[test]
fn every_form_finds_its_row() {
    let missing: Vec<&str> = include_str!("../../tests/forms.txt")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| {
            let (op, quals) = parse(line);
            find(op, &quals).is_none()
        })
        .collect();
    assert!(missing.is_empty(), "no row: {missing:#?}");
}

#[test]
fn every_row_has_forms_that_find_it() {
    for row in rows() {
        // A pattern may hold what an earlier row takes first, or a vector too wide to exist.
        let forms = row.forms(4000);
        assert!(!forms.is_empty(), "{} {}", row.op.name(), row.syntax);
    }
}

#[test]
fn versions_are_those_of_the_assembler() {
    for (text, target, version) in [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            80,
            Some((7, 0)),
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            75,
            None,
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
            75,
            Some((6, 5)),
        ),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 75, Some((6, 5))),
        ("cp.async.cg.shared.global", 80, Some((7, 0))),
        ("dp4a.s32.u32", 61, Some((5, 0))),
        ("dp4a.s32.u32", 60, None),
        ("shfl.sync.bfly.b32", 70, Some((6, 0))),
        ("atom.global.add.u32", 70, Some((1, 2))),
        ("atom.relaxed.cluster.global.add.u32", 90, Some((7, 8))),
        ("atom.relaxed.cluster.global.add.u32", 89, None),
        ("cvt.rn.satfinite.e4m3x2.f32", 89, Some((8, 1))),
        ("cvt.rn.satfinite.e4m3x2.f32", 90, Some((7, 8))),
        ("wgmma.fence.sync.aligned", 90, None),
    ] {
        let (op, quals) = parse(text);
        let form = form(op, &quals).unwrap_or_else(|| panic!("no form {text}"));
        let want = version.map(|(major, minor)| PtxVersion::new(major, minor));
        assert_eq!(
            form.lowest_version(Target::sm(target)),
            want,
            "{text} on {target}"
        );
    }
}

#[test]
fn optional_operands_fill_from_the_left() {
    let (op, quals) = parse("bar.red.popc.u32");
    let form = form(op, &quals).unwrap();
    assert_eq!(form.operand_counts(), (3, 4));
    let mut three = form.assign(3).unwrap();
    assert_eq!(three.nth(2).unwrap().shape, Shape::Predicate);
    assert!(form.assign(5).is_none());
    assert!(form.assign(2).is_none());
}

#[test]
fn the_last_column_says_what_instructions_do() {
    use {Effect::*, Lanes::*, Meeting as Meet};
    for (text, result, effect, lanes, meeting) in [
        ("add.u32", true, Same, Sources, Meet::None),
        ("add.cc.u32", true, Acts, Own, Meet::None),
        ("madc.lo.cc.u32", true, Acts, Own, Meet::None),
        ("setp.lt.f32", true, Same, Sources, Meet::None),
        ("vmad.u32.u32.u32", true, Same, Sources, Meet::None),
        ("cvta.global.u64", true, Same, Sources, Meet::None),
        ("cvta.local.u64", true, Same, Own, Meet::None),
        ("cvta.to.local.u64", true, Same, Own, Meet::None),
        ("ld.global.f32", true, Pure, Sources, Meet::None),
        ("ld.param.u64", true, Same, Sources, Meet::None),
        ("ld.global.nc.f32", true, Same, Sources, Meet::None),
        ("ld.volatile.global.u32", true, Acts, Own, Meet::None),
        ("ld.relaxed.gpu.global.u32", true, Acts, Own, Meet::None),
        ("st.global.f32", false, Acts, Sources, Meet::None),
        ("atom.global.add.u32", true, Acts, Own, Meet::None),
        ("red.global.add.u32", false, Acts, Own, Meet::None),
        ("shfl.sync.bfly.b32", true, Acts, Own, Meet::Mask),
        ("vote.sync.any.pred", true, Acts, Together, Meet::Mask),
        ("match.any.sync.b32", true, Acts, Own, Meet::Mask),
        ("match.all.sync.b32", true, Acts, Together, Meet::Mask),
        ("activemask.b32", true, Acts, Together, Meet::None),
        ("bar.sync", false, Acts, Together, Meet::None),
        ("bar.red.popc.u32", true, Acts, Together, Meet::None),
        ("bar.warp.sync", false, Acts, Together, Meet::Mask),
        ("mbarrier.init.shared.b64", false, Acts, Own, Meet::None),
        ("mbarrier.arrive.shared.b64", true, Acts, Own, Meet::None),
        (
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            true,
            Pure,
            Own,
            Meet::Warp,
        ),
        (
            "stmatrix.sync.aligned.m8n8.x4.shared.b16",
            false,
            Acts,
            Own,
            Meet::Warp,
        ),
        ("wgmma.fence.sync.aligned", false, Acts, Own, Meet::Warp),
        ("bra", false, Acts, Own, Meet::None),
    ] {
        let (op, quals) = parse(text);
        let form = form(op, &quals).unwrap_or_else(|| panic!("no form {text}"));
        let want = Facts {
            effect,
            lanes,
            meeting,
        };
        assert_eq!(form.facts(), want, "{text}");
        assert_eq!(has_result(op, quals.as_slice()), Some(result), "{text}");
        // What all rows of an opcode agree on is what its rows say.
        let known = facts(op, quals.as_slice());
        assert_eq!(known, Some(want), "{text}");
    }
}
