package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/reference"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Reference is an entry of a client's file that starts a reference server.
type Reference struct {
	Client string `json:"client"`
	Scope  Scope  `json:"scope"`
	Name   string `json:"name"` // name of the entry
	*reference.Server
}

// References returns the entries of a client's file that start reference servers. Those of a project are untrusted input.
func References(c *Client, s System, o Options) ([]Reference, error) {
	_, old, err := open(c, s, o)
	if err != nil {
		return nil, err
	}
	var found []Reference
	servers := c.servers(old.doc)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		fields, _ := servers[name].(object)
		start, ok := c.shape.read(fields)
		if !ok {
			continue
		}
		e := reference.Entry{Command: start.Command, Args: start.Args, Env: map[string]string{}}
		env, isEnv := fields[c.shape.env].(object)
		for name, value := range env {
			text, isText := value.(string)
			e.Env[name], isEnv = text, isEnv && isText
		}
		on := reference.System{Windows: s.OS == "windows", Variables: c.places, Expands: c.expands}
		if o.Scope == ProjectScope && !c.elsewhere && fields["cwd"] == nil {
			on.Base = varProject
		}
		server := reference.Recognize(e, on)
		if server == nil {
			continue
		}
		if fields[c.shape.env] != nil && !isEnv {
			server.Leave("its %s is not a table of strings", c.shape.env)
		}
		c.examineFields(server, fields)
		found = append(found, Reference{c.ID, o.Scope, name, server})
	}
	return found, nil
}

// fieldsLost says what is lost with a field of an entry; empty if nothing is.
var fieldsLost = map[string]string{
	"command": "", "args": "", "type": "", "description": "", "cwd": "", "enabled": "", "disabled": "",
	"alwaysAllow": "approve tools again", "autoApprove": "approve tools again", "trust": "approve tools again",
	"timeout": "the plugin's limits apply", "startup_timeout_ms": "the plugin's limits apply", "startup_timeout_sec": "the plugin's limits apply",
	"tool_timeout_sec": "the plugin's limits apply",
}

// examineFields leaves entries with fields that are not understood. The names are shown, and values never.
func (c *Client) examineFields(s *reference.Server, fields object) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch lost, known := fieldsLost[name]; {
		case name == "enabled" && fields[name] != true, name == "disabled" && fields[name] != false:
			s.Leave("it is disabled")
		case !known && name != c.shape.env:
			s.Leave("its field %s has no counterpart", visible.Name(name))
		case lost != "":
			s.Lose("its field %s is not carried over: %s", name, lost)
		}
	}
}

// Replace returns the change that removes the entries with names, which start reference servers, and adds the entry of Bulkhead. Apply
// keeps a record of them, with which Remove brings them back.
func Replace(c *Client, s System, o Options, names []string) (*Change, error) {
	change, err := Add(c, s, o)
	if err != nil {
		return nil, err
	}
	record, err := change.readRecord()
	if err != nil {
		return nil, err
	}
	if change.content == nil {
		change.content = change.file.Data // the entry of Bulkhead exists
	}
	for _, name := range names {
		doc, err := c.format.decode(change.File, change.content)
		if err != nil {
			return nil, err
		}
		change.Diff = append(change.Diff, difference(change.hidden(doc, name), nil)...)
		if change.content, err = c.format.remove(change.content, append(slices.Clone(c.at(doc)), name)); err != nil {
			return nil, invalidFile(change.File, err)
		}
	}
	change.Replaces, change.Command = names, nil
	if change.Action == ActionNone {
		change.Action, change.Next = ActionUpdate, c.next[o.Scope]
	}
	record = append(record, replacement{names, change.file.Data, transaction.Digest(change.content)})
	if change.record == nil {
		return change, nil // without a state directory, Apply refuses the change
	}
	change.record.Delete = false
	if change.record.After, err = json.Marshal(record); len(change.record.After) > maxRecord {
		return nil, usage.Errorf("%s is too large to keep what is replaced", change.File)
	}
	return change, err
}

// hidden formats an entry of another program, whose arguments and variables can be credentials.
func (c *Change) hidden(doc object, name string) []string {
	fields, _ := c.client.servers(doc)[name].(object)
	shown := c.client.fieldsToShow(fields)
	for i, f := range shown {
		if _, isText := f.value.(string); !isText {
			shown[i].hidden = true
		}
	}
	return c.client.format.lines(append(slices.Clone(c.client.at(doc)), name), shown)
}

// restore makes the removal of Bulkhead's entry bring back the entries that it has replaced. If nothing else in the file has changed since,
// it becomes what it was.
func (c *Change) restore() error {
	format := c.client.format
	record, err := c.readRecord()
	if len(record) == 0 {
		c.record = nil
		return err
	}
	content := c.file.Data
	for _, r := range slices.Backward(record) {
		doc, err := format.decode(c.File, content)
		if err != nil {
			return err
		}
		before, err := format.decode(c.File, r.Before)
		if err != nil {
			return err
		}
		unchanged := transaction.Digest(content) == r.After
		for _, name := range r.Names {
			if c.client.servers(doc)[name] != nil {
				c.Notes = append(c.Notes, fmt.Sprintf("%s exists, so the entry that was replaced is not brought back: it is in the backup", name))
				continue
			}
			c.Restores = append(c.Restores, name)
			c.Diff = append(c.Diff, difference(nil, c.hidden(before, name))...)
			if unchanged {
				continue
			}
			if content, err = format.copy(content, r.Before, append(slices.Clone(c.client.at(before)), name)); err != nil {
				return invalidFile(c.File, err)
			}
		}
		if unchanged {
			content = r.Before
		}
	}
	doc, err := format.decode(c.File, content)
	if err == nil && c.client.servers(doc)[c.Name] != nil {
		content, err = format.remove(content, c.path(doc))
	}
	c.content, c.Command = content, nil
	return invalidFile(c.File, err)
}
