package live

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill sets the exported fields of v: strings to text, and lists to one element, which bound cuts none of.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text)
			}
		}
	}
}

// repeated returns the first element of list n times.
func repeated[T any](list []T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = list[0]
	}
	return all
}

func encode(t *testing.T, s Snapshot) []byte {
	t.Helper()
	line, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestFullSnapshotIsDecodedWhole(t *testing.T) {
	var s Snapshot
	fill(reflect.ValueOf(&s).Elem(), strings.Repeat("\x01", maxText))
	s.Calls, s.Workers, s.Waiting = repeated(s.Calls, maxCalls), repeated(s.Workers, maxWorkers), repeated(s.Waiting, maxEvents)
	for _, list := range []*[]Event{&s.Ended, &s.Refused, &s.Limits, &s.Asked} {
		*list = repeated(*list, maxEvents)
	}
	s.Config, s.ProjectDir = strings.Repeat("\x01", maxFile), strings.Repeat("\x01", maxFile)
	got, err := decode(encode(t, s))
	if diff := cmp.Diff(s, got); err != nil || diff != "" {
		t.Errorf("%v (want -, got +)\n%s", err, diff)
	}
}

func TestTextsOfOtherServersAreCut(t *testing.T) {
	var s Snapshot
	fill(reflect.ValueOf(&s).Elem(), strings.Repeat("<", 2*maxFile))
	got, err := decode(encode(t, s))
	if err != nil {
		t.Fatal(err)
	}
	var want Snapshot
	fill(reflect.ValueOf(&want).Elem(), strings.Repeat("<", maxText)+"…")
	want.Config, want.ProjectDir = strings.Repeat("<", maxFile)+"…", strings.Repeat("<", maxFile)+"…"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
}

// TestMemoryOfOneLineIsBounded decodes lines of maxSnapshot bytes. An Event takes more than a hundred times the memory of `{},`.
func TestMemoryOfOneLineIsBounded(t *testing.T) {
	numerous := func(element string) string {
		return strings.Repeat(element+",", maxSnapshot/(len(element)+1)-10) + element
	}
	long := strings.Repeat("7", maxSnapshot-100)
	for name, c := range map[string]struct {
		line   string
		refuse bool
	}{
		"empty events":    {`{"ended":[` + numerous("{}") + `]}`, true},
		"empty questions": {`{"waiting":[` + numerous("{}") + `]}`, true},
		"numbers":         {`{"ended":[` + numerous("7") + `]}`, true},
		"unknown members": {`{` + numerous(`"x":{}`) + `}`, true},
		"nested lists":    {`{"x":` + strings.Repeat("[", maxSnapshot/2-10) + strings.Repeat("]", maxSnapshot/2-10) + `}`, true},
		"long number":     {`{"pid":` + long + `}`, true},
		"long time":       {`{"started":"` + long + `"}`, true},
		"long text":       {`{"transport":"` + long + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			line := []byte(c.line)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := decode(line)
			runtime.ReadMemStats(&after)
			if (err != nil) != c.refuse {
				t.Errorf("got the error %.300v", err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 12*uint64(len(line)) {
				t.Errorf("a line of %d bytes allocates %d", len(line), allocated)
			}
			if err != nil && len(err.Error()) > 2*maxText || len(s.Transport) > 2*maxText {
				t.Errorf("%d bytes are shown as text, and %d as an error", len(s.Transport), len(err.Error()))
			}
		})
	}
}
