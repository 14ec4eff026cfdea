// Package admin is the district of tools for those who install and supervise Bulkhead. It calls no tool of a plugin; the demo does so
// as a client, over the streams of a server process.
//
// Plugins and configs:
//   - install: add and remove plugins, prepare a project, record trust, verify pins, compare two versions, make tokens
//   - source: fetches the archives of plugins by their references, and signed documents
//   - catalogue: signed lists of plugins, by which they are found by their names
//   - registry: pulls plugins from OCI registries, and pushes them
//   - registry/registrytest: registries of other projects, for tests
//   - publish: packs, signs and pushes a plugin
//   - review: manifests and grants in words, and the differences between two versions
//   - explain: what plugins are granted, and why
//   - doctor: what a host needs, and what is wrong with it
//   - codecache: list, clear and fill the cache of compiled code
//   - client: Bulkhead's entry in the configuration files of MCP clients
//   - reference: recognizes reference servers of MCP in entries of clients, and the grants of the plugins that replace them
//   - demo: builds the plugins of a checkout and shows them working
//   - admintest: the temporary installation of the tests of this district
//
// The pages of `bulkhead ui`, and what they show:
//   - ui: the local web server, which knows no page
//   - ui/pages: the pages of an installation, which show what the other packages know
//   - grants: what clients may do by which plugins, and by which lines
//   - servers: what the running servers of the user do, for the page Live
//   - remedy: what decides about a refusal: the line, the key, and the command that explains it
//   - history: the calls of the audit log by the hour, plugin, tool and client
//   - installed: what is installed, pinned and signed, for the page Plugins
//   - terminal: the commands that pages show
//
// Start with install.Propose and Proposal.Write, which are `bulkhead add`: the consent of the user is between the two. What is written
// is the config, by edits of config and tomlfile that preserve comments, and its trust record.
package admin
