package client

import (
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/linediff"
)

// fieldsToShow returns the fields of an entry: first those that this package writes, then the names of the other fields, whose
// values may be credentials.
func (c *Client) fieldsToShow(fields object) []field {
	var out []field
	rest := maps.Clone(fields)
	entry, _ := c.read(fields)
	for _, f := range c.fields(entry) {
		value, ok := rest[f.Name]
		if !ok {
			continue
		}
		delete(rest, f.Name)
		shown := field{name: f.Name, value: value}
		if list, ok := stringList(value); ok && value != nil {
			shown.value = redact(list)
		} else if _, ok := value.(string); !ok {
			shown = hiddenField(f.Name, value)
			if _, ok := f.Value.(jsonfile.Object); ok { // the entry was read from this member
				shown.hidden, shown.value = false, f.Value
			}
		}
		out = append(out, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		out = append(out, hiddenField(name, rest[name]))
	}
	return out
}

// hiddenField returns a field whose value is not shown.
func hiddenField(name string, value any) field {
	members, _ := value.(object)
	_, known := members[authorization]
	return field{name: name, hidden: true, more: len(members) > 1 || len(members) == 1 && !known}
}

// otherFields returns the names of the fields of an entry that are left when fields are written.
func (c *Client) otherFields(old object, write jsonfile.Object) string {
	var names []string
	for _, f := range c.fieldsToShow(old) {
		written := slices.ContainsFunc(write, func(w jsonfile.Member) bool { return w.Name == f.name })
		if f.hidden && !written || f.more && written {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// withFields returns fields as they are after write was written.
func withFields(fields []field, write jsonfile.Object) []field {
	fields = slices.Clone(fields)
	for _, w := range write {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == w.Name })
		if at < 0 {
			fields = append(fields, field{name: w.Name, value: w.Value})
			continue
		}
		_, merged := w.Value.(jsonfile.Object)
		fields[at] = field{name: w.Name, value: w.Value, more: fields[at].more && merged}
	}
	return fields
}

// redact hides the values of variables in the arguments of serve.
func redact(args []string) []string {
	args = append([]string{}, args...)
	for i, arg := range args {
		prefix, pair := "", arg
		if after, joined := strings.CutPrefix(arg, "--env="); joined {
			prefix, pair = "--env=", after
		} else if i == 0 || args[i-1] != "--env" {
			continue
		}
		if name, _, assigned := strings.Cut(pair, "="); assigned {
			args[i] = prefix + name + "=…"
		}
	}
	return args
}

// difference marks lines that are only in before with "- ", lines that are only in after with "+ ", and common lines with two
// spaces. A comma at the end of a line is ignored in the comparison.
func difference(before, after []string) []string {
	var out []string
	for _, op := range linediff.Compare(withoutCommas(before), withoutCommas(after)) {
		lines := after[op.New:]
		if op.Kind == linediff.Delete {
			lines = before[op.Old:]
		}
		for _, line := range lines[:op.Count] {
			out = append(out, string(op.Kind)+" "+line)
		}
	}
	return out
}

func withoutCommas(lines []string) []string {
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, ",")
	}
	return lines
}
