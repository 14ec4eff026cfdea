package hosttool

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// maxNamed is how many plugins the description of Find names.
const maxNamed = 20

func (s *Set) describeFind() (gateway.Tool, bool) {
	var names []string
	for i, p := range s.plugins {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(s.plugins)-maxNamed))
			break
		}
		names = append(names, visible.Bounded(p.Name, 64))
	}
	return own(fmt.Sprintf("Find tools by what they do, among %d of: %s. Call a found tool by %s.", len(s.tools), strings.Join(names, ", "), s.callers())), len(s.tools) > 0
}

// callers names the tools that call those of plugins.
func (s *Set) callers() string {
	var names []string
	if _, ok := s.describeRead(); ok {
		names = append(names, s.Reader())
	}
	if _, ok := s.describeWrite(); ok {
		names = append(names, Write)
	}
	return strings.Join(names, " or ")
}

// Reader returns the name of the tool by which tools that read are called.
func (s *Set) Reader() string {
	if s.mode == config.ToolsCode {
		return Script
	}
	return Read
}

func (s *Set) describeDescribe() (gateway.Tool, bool) {
	return own("Describe tools in full, by name: arguments, results, and what they are for."), len(s.tools) > 0
}

// own returns the description of a tool that reads only what the host knows.
func own(description string) gateway.Tool {
	closed := false
	return gateway.Tool{Description: description, ReadOnly: true, OpenWorld: &closed}
}

func (s *Set) describeRead() (gateway.Tool, bool) {
	tool, ok := s.hints(true)
	tool.Description = "Call a found tool that only reads."
	return tool, ok
}

func (s *Set) describeWrite() (gateway.Tool, bool) {
	tool, ok := s.hints(false)
	tool.Description = "Call a found tool that writes, which its description says."
	return tool, ok
}

// hints returns the annotations of a tool that calls all tools that only read, or all others: a client may rely on a hint only if it is true of
// each of them. It returns false if there are none.
func (s *Set) hints(readOnly bool) (tool gateway.Tool, ok bool) {
	destructive, openWorld := false, false
	for _, t := range s.tools {
		if t.ReadOnly == readOnly {
			ok = true
			destructive = destructive || t.Destructive == nil || *t.Destructive
			openWorld = openWorld || t.OpenWorld == nil || *t.OpenWorld
		}
	}
	tool = gateway.Tool{ReadOnly: readOnly, OpenWorld: &openWorld}
	if !readOnly {
		tool.Destructive = &destructive
	}
	return tool, ok
}
