package forward

import (
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// identifier is the name under which the records are in the logs of the system.
const identifier = "bulkhead-audit"

// The facility and the severities of syslog, which journald has too. Most systems let only administrators read authpriv.
const (
	facilityAuthPriv = 10
	severityWarning  = 4
	severityNotice   = 5
	severityInfo     = 6
)

// severity returns warning for lost records, notice for what was refused, and info for the rest.
func severity(e *audit.Entry) int {
	switch {
	case e.Kind == audit.KindGap:
		return severityWarning
	case e.Outcome == audit.Denied:
		return severityNotice
	}
	return severityInfo
}

// encodeJournal appends the datagram of a line in journald's native protocol: MESSAGE is the line itself, and the strings by which records
// are looked up are fields of their own.
func encodeJournal(b, line []byte) []byte {
	var e audit.Entry
	_ = json.Unmarshal(line, &e) // package audit has encoded it
	b = appendField(b, "MESSAGE", string(line))
	b = appendField(b, "SYSLOG_IDENTIFIER", identifier)
	b = appendField(b, "SYSLOG_FACILITY", strconv.Itoa(facilityAuthPriv))
	b = appendField(b, "PRIORITY", strconv.Itoa(severity(&e)))
	for _, f := range []struct{ name, value string }{
		{"KIND", string(e.Kind)}, {"ID", e.ID}, {"PARENT", e.Parent}, {"TASK", e.Task}, {"PLUGIN", e.Plugin}, {"VERSION", e.Version}, {"CLIENT", e.Client}, {"PRINCIPAL", e.Principal},
		{"ADDRESS", e.Address}, {"PROJECT", e.Project}, {"REQUEST", e.Request}, {"METHOD", e.Method}, {"SUBJECT", e.Subject}, {"TOOL", e.Tool}, {"VIA", e.Via},
		{"OUTCOME", string(e.Outcome)}, {"CODE", e.Code},
	} {
		if f.value != "" {
			b = appendField(b, "BULKHEAD_"+f.name, visible.Line(f.value)) // MESSAGE has the exact value
		}
	}
	return b
}

// appendField appends a field. Its value has a length instead of an end, so that no value can begin another field.
func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, '\n')
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	b = append(b, value...)
	return append(b, '\n')
}
