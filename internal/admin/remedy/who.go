package remedy

import (
	"cmp"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Who names a client in the same form on every page: by what it reports if it has no principal of its own, and a token by its name too.
func (f *Finder) Who(principal, client string) string {
	if name := f.NameOf(principal); name != "" {
		return name + " (" + principal + ")"
	}
	return history.CallerKey(principal, client).Caller()
}

// Table returns the name of the table of [[clients]] that decides for a principal now; empty if it is not known: what a JWT claims is in no log,
// nor whether the user without a token has used HTTP.
func (f *Finder) Table(principal string) string {
	name := f.NameOf(principal)
	if f.view == nil || name == "" && principal != call.BearerID {
		return ""
	}
	if table, _ := f.view.Clients.Of(&call.Principal{ID: principal, Name: name}); table != nil {
		return table.Name
	}
	return ""
}

// MayDecide reports whether a table of [[clients]] may decide for a principal now: what a JWT claims is in no log, nor the name of a token that is
// revoked, and the user without a token may have used HTTP.
func (f *Finder) MayDecide(table, principal string) bool {
	switch {
	case principal != call.LocalID && principal != call.BearerID && f.NameOf(principal) == "":
		return true
	case principal == call.LocalID:
		local, _ := f.view.Clients.Of(&call.Principal{ID: principal})
		return local != nil && local.Name == table
	}
	return f.Table(principal) == table
}

// Selectors returns what selects clients in the audit log: clients, and the principals of the tokens whose names they select.
func (f *Finder) Selectors(clients []string) []string {
	if len(clients) == 0 {
		return nil
	}
	all := slices.Clone(clients)
	for principal, name := range f.tokens() {
		if (audit.Query{Clients: clients}).Matches(audit.Entry{Client: name}) {
			all = append(all, principal)
		}
	}
	return all
}

// OfHistory returns the remedy of the latest of the refusals that the history counts together; the zero value without a view.
func (f *Finder) OfHistory(r history.Refused) Remedy {
	if f.view == nil {
		return Remedy{}
	}
	return f.Find(Refusal{
		Plugin: r.Plugin, Method: r.Method, Tool: cmp.Or(r.Tool, r.Example), Principal: r.LastPrincipal, Op: r.Op, Target: r.Example, Code: r.Code,
	})
}

// NameOf returns the name of the token that a principal stands for; empty if there is none.
func (f *Finder) NameOf(principal string) string { return f.tokens()[principal] }

// tokens returns the names of tokens, by their principals.
func (f *Finder) tokens() map[string]string {
	if f.names == nil {
		f.names = map[string]string{}
		file, err := discovery.NamedTokens(f.options.System)
		if err == nil {
			named, _ := file.Read() // without them nothing is known of their clients
			for i := range named {
				f.names[named[i].PrincipalID()] = named[i].Name
			}
		}
	}
	return f.names
}
