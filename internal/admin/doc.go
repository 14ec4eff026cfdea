// Package admin is the district of tools for those who install and supervise Bulkhead. It calls no tool of a plugin; the demo does so
// as a client, over the streams of a server process.
//
//   - admin: add and remove plugins, trust, verify, explain, diff, warm, the cache, `doctor`, tokens, the audit log's settings
//   - review: manifests and grants in words, and the differences between two versions
//   - client: Bulkhead's entry in the configuration files of MCP clients
//   - demo: builds the plugins of a checkout and shows them working
//
// Start with admin.Propose and Proposal.Write, which are `bulkhead add`: the consent of the user is between the two.
package admin
