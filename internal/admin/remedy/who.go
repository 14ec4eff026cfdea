package remedy

import (
	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Who names a client in the same form on every page: by what it reports if it has no principal of its own, and a token by its name too.
func (f *Finder) Who(principal, client string) string {
	if name := f.nameOf(principal); name != "" {
		return name + " (" + principal + ")"
	}
	return history.CallerKey(principal, client).Caller()
}

// Table returns the name of the table of [[clients]] that decides for a principal now; empty if it is not known: what a JWT claims is in no log,
// nor whether the user without a token has used HTTP.
func (f *Finder) Table(principal string) string {
	name := f.nameOf(principal)
	if f.view == nil || name == "" && principal != call.BearerID {
		return ""
	}
	if table, _ := f.view.Clients.Of(&call.Principal{ID: principal, Name: name}); table != nil {
		return table.Name
	}
	return ""
}

// nameOf returns the name of the token that a principal stands for; empty if there is none.
func (f *Finder) nameOf(principal string) string {
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
	return f.names[principal]
}
