//! A change: the object before and after it, each with its own nodes and the forecast for them.

use std::collections::BTreeMap;

use operator_models::forecast::{self, Changes, Forecast, Given, NoForecast, Objects, State};
use operator_models::hco::node::Census;

use crate::cluster::Unreadable;
use crate::configuration::{Configuration, Origin};
use crate::images::Images;

/// The state before a change, and another version of HCO after it. The module never has it.
#[derive(Debug, Default)]
pub struct Comparison<'a> {
    /// The HCO version after the change, for example `1.19` or `4.22`.
    pub version: Option<&'a str>,
    /// The list of the nodes before the change, as JSON; `None` if they stay the same. It is ignored if it is not valid.
    pub nodes_before: Option<&'a str>,
    /// The existing objects, which replace the forecast for the old object.
    pub objects: Objects<'a>,
}

#[derive(Debug)]
pub(crate) struct Side<'a> {
    pub(crate) configuration: Configuration<'a>,
    /// The nodes for the object's placement; `None` if they are unknown.
    pub(crate) census: Option<&'a Census>,
    /// The objects that SSP and CDI will create, or why there are none.
    pub(crate) forecast: Result<Forecast<'a>, NoForecast<'a>>,
}

impl<'a> Side<'a> {
    pub(crate) fn new(configuration: Configuration<'a>, census: Option<&'a Census>) -> Self {
        let forecast = match given(&configuration, census) {
            Ok(_) if configuration.contradicts_itself => Err(NoForecast::ByHco),
            Ok(given) => Forecast::new(&given),
            Err(none) => Err(none),
        };
        Self {
            configuration,
            census,
            forecast,
        }
    }

    /// The same object on these nodes, as if HCO and SSP rejected nothing.
    pub(crate) fn accepted(&self, census: Option<&'a Census>) -> Self {
        let forecast = given(&self.configuration, census);
        Self {
            configuration: self.configuration.clone(),
            census,
            forecast: forecast.map(|given| Forecast::of_accepted(&given)),
        }
    }

    /// The same object as if HCO and SSP rejected nothing; `None` if they reject nothing.
    pub(crate) fn unrejected(&self) -> Option<Self> {
        self.is_rejected().then(|| self.accepted(self.census))
    }

    /// The forecast, also if only HCO's schema rejects the object.
    pub(crate) fn readable_forecast(&self) -> Option<&Forecast<'a>> {
        match &self.forecast {
            Ok(forecast) => Some(forecast),
            Err(NoForecast::Mistyped(forecast)) => Some(forecast),
            Err(_) => None,
        }
    }

    pub(crate) fn is_rejected(&self) -> bool {
        !matches!(
            self.forecast,
            Ok(_) | Err(NoForecast::NodesUnknown | NoForecast::NotDeployed)
        )
    }

    /// The workload nodes by architecture; none if they are unknown.
    pub(crate) fn workload(&self) -> &'a BTreeMap<String, usize> {
        static NONE: BTreeMap<String, usize> = BTreeMap::new();
        self.census.map_or(&NONE, |census| &census.workload)
    }

    pub(crate) fn matches_no_node(&self) -> bool {
        self.census.is_some_and(|census| census.workload.is_empty())
    }
}

fn given<'a>(
    configuration: &Configuration<'a>,
    census: Option<&'a Census>,
) -> Result<Given<'a>, NoForecast<'a>> {
    let installation = configuration.installation;
    if !installation.deploys_golden_images {
        return Err(NoForecast::NotDeployed);
    }
    Ok(Given {
        hco: configuration.hco,
        import: configuration.import,
        common: &installation.common,
        golden_namespace: &installation.golden_namespace,
        version: installation.version,
        is_complete: configuration.origin == Origin::Stored,
        census: census.ok_or(NoForecast::NodesUnknown)?,
    })
}

#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// The object before an update; `None` on creation, or if it cannot be read.
    pub(crate) before: Option<&'a Side<'a>>,
    pub(crate) after: Side<'a>,
    /// The changes in the cluster, if HCO and SSP accept both objects.
    pub(crate) changes: Option<Changes>,
    pub(crate) images: &'a Images,
    pub(crate) unreadable_nodes: Option<&'a Unreadable>,
}

impl<'a> Change<'a> {
    pub(crate) fn before_configuration(&self) -> Option<&'a Configuration<'a>> {
        Some(&self.before?.configuration)
    }
}

/// The changes in the cluster. `objects` are the existing ones, which replace the forecast for the object before.
pub(crate) fn find_changes(
    before: Option<&Side<'_>>,
    after: &Side<'_>,
    objects: Option<&Objects<'_>>,
) -> Option<Changes> {
    let forecast = after.forecast.as_ref().ok()?;
    let state = before
        .and_then(|before| before.forecast.as_ref().ok())
        .map(State::new);
    // If the object was rejected or does not exist, the operators created nothing.
    let existing = match objects {
        Some(objects) => state.unwrap_or_default().with(objects),
        None => state?,
    };
    Some(forecast::changes(&existing, forecast))
}
