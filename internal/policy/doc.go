// Package policy is the district of decisions: which plugins are served, what each is granted, and what clients are offered. It
// reads files and decides; it must not start a process, load a module or open a granted directory. runtime carries out what is
// decided here.
//
// In the order in which they depend on each other:
//   - manifest: plugin.toml: what a plugin offers, and which capabilities it requests
//   - config: bulkhead.toml and its includes, the organisation's ceiling, limits; Decide intersects request and policy, and Places
//     replaces the variables of paths, such as ${project}
//   - trust: records of what the user has agreed to, by path and digest
//   - store: the plugins that were fetched, by the digests of their manifests
//   - revocation: signed lists of plugins that must not be served any more
//   - ready: what a plugin requires beyond a grant, such as an initialized directory of the project
//   - discovery: finds the config or the plugins directory, the ceiling, the directories that ${project} and ${home} stand for, the state
//     and cache directories; reads credentials
//   - toolindex: finds tools by words
//   - hosttool: the tools of the host itself, by which clients find and call those of plugins
//   - catalog: what clients see: names of tools (two of one name are withheld, never renamed), filters, merged and paginated lists,
//     instructions
//
// Start with discovery.FindOrExplain and catalog.New: host.Open calls them in this order. A grant is decided by config.Decide, and narrowed
// to the ceiling by Ceiling.Narrow; both are pure functions. Deny patterns, limits and credentials each have a file in config.
package policy
