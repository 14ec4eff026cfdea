// Package authoring is the district of tools for those who write plugins. Commands `bulkhead plugin …`, `conform` and `replay` call it.
// It must not decide what a plugin is granted in an installation: what runs here runs in temporary directories, or without any grant.
//
//   - build: builds plugins and checks them: modules, manifests, digests, schemas derived from types
//   - agreement: whether a manifest's schemas agree with the types of the handlers
//   - importer: writes the manifest of a plugin of hyper-mcp
//   - scaffold: creates a new plugin in each language
//   - dev: builds again whenever a source changes
//   - scenario: runs and records a plugin's tests/*.toml
//   - conform: tests whether a module, or an SDK, conforms to the ABI
//   - replay: makes the calls of an audit log again with another version
//   - scratch: hosts in temporary directories, for scenario, conform and replay
//
// For tests only:
//   - guide: reads the pages of docs/guide, so that their examples are tested
//   - hosttest: opens hosts in tests of other packages
//   - wasmtest: assembles modules without a compiler
//
// Start with build.Build, then scenario.Run.
package authoring
