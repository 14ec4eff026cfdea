// Package tools connects clocks and zones to MCP: it defines the tools. Register adds the handlers to a plugin.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/time/clock"
	"github.com/bulkhead-mcp/bulkhead/plugins/time/zone"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/python"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	localName     = "local"          // the name of the user's own zone
	localVariable = "LOCAL_TIMEZONE" // names that zone; the host's, if it is unset
)

// Register adds the handlers of the tools to the plugin p. The function now returns the time.
func Register(p *sdk.Plugin, now func() time.Time) {
	handle(p, "get_current_time", []string{"timezone"}, func(values []string) (any, error) {
		zones, err := find([]string{"timezone"}, values)
		if err != nil {
			return nil, err
		}
		return clock.Read(now(), zones[0]), nil
	})
	handle(p, "convert_time", []string{"source_timezone", "time", "target_timezone"}, func(values []string) (any, error) {
		zones, err := find([]string{"source_timezone", "target_timezone"}, []string{values[0], values[2]})
		if err != nil {
			return nil, err
		}
		return clock.Convert(now(), zones[0], values[1], zones[1])
	})
}

// handle registers a tool with string arguments, whose results are JSON objects.
func handle(p *sdk.Plugin, tool string, arguments []string, call func(values []string) (any, error)) {
	run := func(raw json.RawMessage) (any, error) {
		values, err := python.Strings(tool, raw, arguments...)
		if err != nil {
			return nil, err
		}
		return call(values)
	}
	sdk.HandleTool(p, tool, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
		result, err := run(raw)
		if err != nil {
			return nil, fmt.Errorf("Error executing tool %s: %w", tool, err) //lint:ignore ST1005 the text of the reference server
		}
		text, err := rawjson.MarshalIndent(result, "  ")
		return &sdk.ToolResult{Content: []sdk.Content{sdk.TextContent{Text: string(text)}}, StructuredContent: result}, err
	})
}

// find returns the zones with these names, which are the values of the arguments.
func find(arguments, names []string) ([]clock.Zone, error) {
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("Missing required argument: %s", arguments[i]) //lint:ignore ST1005 the text of the reference server
		}
	}
	zones := make([]clock.Zone, len(names))
	for i, name := range names {
		if name == localName {
			if name = os.Getenv(localVariable); name == "" {
				zones[i] = clock.Zone{Name: localName, Location: time.Local}
				continue
			}
		}
		location, err := zone.Load(name)
		if err != nil && names[i] == localName {
			err = fmt.Errorf("the variable %s: %w", localVariable, err)
		}
		if err != nil {
			return nil, fmt.Errorf("Invalid timezone: %w", err) //lint:ignore ST1005 the text of the reference server
		}
		zones[i] = clock.Zone{Name: name, Location: location}
	}
	return zones, nil
}
