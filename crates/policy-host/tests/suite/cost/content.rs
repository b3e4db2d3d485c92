//! What a request can have any amount of: a generator for each kind of content.

/// Where the items of a generator are in the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `metadata.name`: each item is a part of it.
    Name,
    /// `metadata.annotations`.
    Annotations,
    /// The operations of a jsonpatch annotation.
    SspPatch,
    KubeVirtPatch,
    CdiPatch,
    /// The gates in the annotation `hco.kubevirt.io/v1-only-fields`.
    StoredGates,
    /// The list of feature gates, which only v1 has.
    Gates,
    Templates,
    /// The entries of the annotation of one template.
    Entries,
    NodeSelector,
    /// The values of one requirement of the required affinity of the workloads.
    In,
    NotIn,
    Gt,
    /// The values of 200 requirements, each of which is compared with each node.
    ValuesOf200,
    /// The terms of that affinity, each with one requirement.
    Terms,
    /// The requirements of one term.
    Requirements,
    Fields,
    Preferred,
    /// The terms of the required affinity of the infrastructure.
    InfraTerms,
    Tolerations,
    /// A list that nobody reads.
    UnknownList,
    /// Fields of the spec that nobody reads.
    UnknownFields,
    StatusTemplates,
    RelatedObjects,
    Conditions,
    Versions,
    /// The settings have at most 100 entries, whatever the size of the request is.
    Settings,
}

/// A kind of content.
pub(super) struct Generator {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// An item, as JSON.
    pub(super) item: fn(usize) -> String,
}

macro_rules! generators {
    ($($name:literal $place:ident => $item:expr;)*) => {
        /// All kinds of content.
        pub(super) static GENERATORS: &[Generator] = &[$(Generator {
            name: $name,
            place: Place::$place,
            item: $item,
        }),*];
    };
}

generators! {
    "a long name" Name => |_| "n".to_owned();
    "annotations" Annotations => |n| format!(r#""a{n}":"""#);
    "operations without a path" SspPatch => |_| "{}".to_owned();
    "operations of SSP" SspPatch => |n| format!(r#"{{"op":"add","path":"/spec/cluster/{n}"}}"#);
    "operations of KubeVirt" KubeVirtPatch => |n| format!(r#"{{"op":"move","from":"/spec/workloads/{n}","path":"/spec/x"}}"#);
    "operations of CDI" CdiPatch => |n| format!(r#"{{"op":"add","path":"/x/{n}"}}"#);
    "stored gates" StoredGates => |n| format!(r#"{{"name":"x{n}"}}"#);
    "gates without a name" Gates => |_| "{}".to_owned();
    "gates that are off" Gates => |n| format!(r#"{{"name":"{}nableMultiArchBootImageImport","state":"Disabled"}}"#, ["e", "E"][n % 2]);
    "misspelled gates" Gates => |n| format!(r#"{{"name":"{}bleMultiArchBootImageImport"}}"#, n % 10);
    "empty templates" Templates => |_| "{}".to_owned();
    "disabled templates" Templates => |n| template(n, ENABLE, "False", "{}");
    "templates that are neither" Templates => |n| template(n, ENABLE, "no", "{}");
    "templates without annotations" Templates => |n| format!(r#"{{"metadata":{{"name":"t{n}"}},"spec":{{}}}}"#);
    "complete templates" Templates => complete;
    "templates of one DataSource" Templates => |n| template(n, ARCHITECTURES, "arm64,amd64", r#"{"managedDataSource":"rhel9"}"#);
    "malformed annotations" Templates => |n| template(n, ARCHITECTURES, "AMD64,x", SOURCE);
    "unsupported annotations" Templates => |n| template(n, ARCHITECTURES, "s390x,s390x,", SOURCE);
    "annotations of 64 entries" Templates => |n| template(n, ARCHITECTURES, &distinct(64), SOURCE);
    "annotations of 512 entries" Templates => |n| template(n, ARCHITECTURES, &distinct(512), SOURCE);
    "templates of one name" Templates => |_| template("", ARCHITECTURES, "amd64", SOURCE);
    "templates of long names" Templates => |n| template(format!("{}{n}", "t".repeat(300)), ARCHITECTURES, "amd64", SOURCE);
    "templates of valid names" Templates => |n| template(format!("{}{n}", "t".repeat(45)), ARCHITECTURES, "amd64, arm64", SOURCE);
    "templates of many annotations" Templates => |n| format!(r#"{{"metadata":{{"name":"t{n}","annotations":{{{}}}}},"spec":{SOURCE}}}"#, hundred(|n| format!(r#""a{n}":"""#)));
    "entries" Entries => |n| format!("x{n}");
    "empty entries" Entries => |_| String::new();
    "one entry" Entries => |_| "amd64".to_owned();
    "keys of the nodeSelector" NodeSelector => |n| format!(r#""l{n}":"""#);
    "values of In" In => |n| format!(r#""v{n}""#);
    "values of NotIn" NotIn => |n| format!(r#""v{n}""#);
    "invalid values" In => |n| format!(r#""-{n}""#);
    "values of Gt" Gt => |n| format!(r#""{n}""#);
    "values of 200 requirements" ValuesOf200 => |n| format!(r#""v{n}""#);
    "terms" Terms => |n| term(&format!(r#"{{"key":"l{n}","operator":"Exists"}}"#));
    "invalid terms" Terms => |n| term(&format!(r#"{{"key":"l{n}","operator":"is"}}"#));
    "empty terms" Terms => |_| "{}".to_owned();
    "empty requirements" Requirements => |_| "{}".to_owned();
    "requirements of names" Fields => |n| format!(r#"{{"key":"metadata.name","operator":"In","values":["n{n}"]}}"#);
    "preferred terms" Preferred => |n| format!(r#"{{"weight":1,"preference":{}}}"#, term(&format!(r#"{{"key":"l{n}","operator":"Exists"}}"#)));
    "terms of the infrastructure" InfraTerms => |n| term(&format!(r#"{{"key":"-","operator":"In","values":["-{n}"]}}"#));
    "tolerations" Tolerations => |n| format!(r#"{{"key":"k{n}","operator":"Exists"}}"#);
    "an unknown list" UnknownList => |_| "0".to_owned();
    "unknown fields" UnknownFields => |n| format!(r#""a{n}":0"#);
    "templates in the status" StatusTemplates => |n| complete(n).replacen('{', r#"{"status":{"commonTemplate":true},"#, 1);
    "related objects" RelatedObjects => |_| r#"{"kind":"x"}"#.to_owned();
    "conditions" Conditions => |_| "{}".to_owned();
    "versions" Versions => |_| r#"{"name":"x"}"#.to_owned();
    "settings: prefixes" Settings => |_| levels(|n| format!("{}*", "t".repeat(n + 1)));
    "settings: names" Settings => |_| levels(|n| format!("{}{n}", "t".repeat(45)));
    "settings: common templates" Settings => |_| format!(r#""commonTemplates":{{{}}}"#, hundred(|n| format!(r#""t{n}":"docker://x.io/b""#)));
    "settings: images" Settings => |_| format!(r#""images":"verify-all","registries":[{},"x.io"]"#, hundred(|n| format!(r#""x{n}.io""#)));
    "settings: repairs" Settings => |_| r#""images":"verify","repair":{"multi-arch-import-disabled":"enable-import","architectures-malformed":"normalise","architectures-untidy":"normalise","architectures-missing":"from-image"}"#.to_owned();
    "settings: place-on" Settings => |_| r#""denialsAsWarnings":true,"repair":{"multi-arch-import-disabled":{"place-on":"arm64"}}"#.to_owned();
    "settings: strict updates" Settings => |_| r#""updates":"strict","denialsAsWarnings":true"#.to_owned();
}

const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
const ENABLE: &str = "dataimportcrontemplate.kubevirt.io/enable";
const SOURCE: &str = r#"{"template":{"spec":{"source":{"registry":{"url":"docker://x.io/a"}}}}}"#;

/// A template with an annotation.
fn template(name: impl std::fmt::Display, annotation: &str, value: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"t{name}","annotations":{{"{annotation}":"{value}"}}}},"spec":{spec}}}"#
    )
}

/// A template whose image CDI imports.
fn complete(number: usize) -> String {
    let volume = r#"{"source":{"registry":{"url":"docker://x.io/a"}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}}"#;
    let spec = format!(
        r#"{{"managedDataSource":"t{number}","schedule":"@daily","template":{{"spec":{volume}}}}}"#
    );
    template(number, ARCHITECTURES, "amd64,arm64", &spec)
}

fn term(requirement: &str) -> String {
    format!(r#"{{"matchExpressions":[{requirement}]}}"#)
}

/// As many entries, each another one.
fn distinct(count: usize) -> String {
    let entries: Vec<String> = (0..count).map(|entry| format!("x{entry}")).collect();
    entries.join(",")
}

/// A hundred members or items.
fn hundred(item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..100).map(item).collect();
    items.join(",")
}

/// Levels for the templates with these names or prefixes.
fn levels(name: impl Fn(usize) -> String) -> String {
    let levels = |n| format!(r#""{}":{{"architectures-partial":"deny"}}"#, name(n));
    format!(r#""templates":{{{}}}"#, hundred(levels))
}
