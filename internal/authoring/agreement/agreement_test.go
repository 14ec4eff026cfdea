package agreement_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/agreement"
)

// object is a closed object with the given properties.
func object(properties, more string) string {
	return fmt.Sprintf(`{"type":"object","additionalProperties":false,"properties":{%s}%s}`, properties, more)
}

const search = `{"$comment":"main.search","type":"object","additionalProperties":false,"required":["text"],"properties":{
	"text":{"$comment":"search.Text string","type":"string"},
	"limit":{"$comment":"search.Limit int","type":"integer"},
	"small":{"$comment":"search.Small uint8","type":"integer","minimum":0,"maximum":255},
	"sort":{"$comment":"search.Sort string","type":"string","enum":["name","date"]},
	"tags":{"$comment":"search.Tags []string","type":"array","items":{"type":"string"}},
	"by":{"$comment":"search.By map[string]int","type":"object","additionalProperties":{"type":"integer"}},
	"data":{"$comment":"search.Data []byte","type":"string","contentEncoding":"base64"},
	"when":{"$comment":"search.When *time.Time","anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]},
	"raw":{"$comment":"search.Raw json.RawMessage"},
	"tree":{"$comment":"search.Tree *main.tree","$ref":"#/$defs/tree"}},
	"$defs":{"tree":{"type":"object","additionalProperties":false,"properties":{"name":{"$comment":"tree.Name string","type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`

// TestInput has schemas of a manifest, and the differences from search.
func TestInput(t *testing.T) {
	open := func(properties string) string {
		return fmt.Sprintf(`{"type":"object","properties":{%s}}`, properties)
	}
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"any object":                      {`{"type":"object"}`, nil},
		"some properties":                 {open(`"text":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1}`), nil},
		"nothing is required":             {open(`"text":{"type":"string"}`), nil},
		"null":                            {open(`"limit":{"type":["integer","null"]},"text":{"anyOf":[{"type":"string"},{"type":"null"}]}`), nil},
		"a name in a different case":      {open(`"TEXT":{"type":"string"}`), nil},
		"values without a type":           {open(`"text":{"enum":["a","b"]},"limit":{"const":3}`), nil},
		"a narrower enum":                 {open(`"sort":{"type":"string","enum":["date"]}`), nil},
		"narrower bounds":                 {open(`"small":{"type":"integer","exclusiveMinimum":-1,"maximum":9}`), nil},
		"raw JSON":                        {open(`"raw":{},"data":{"type":"array","items":{"type":"integer"}}`), nil},
		"definitions":                     {`{"type":"object","properties":{"text":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"string"}}}`, nil},
		"recursive definitions":           {open(`"tree":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`), nil},
		"allOf":                           {open(`"text":{"allOf":[{"type":["string","integer"]},{"type":["string","boolean"]}]}`), nil},
		"alternatives of required":        {`{"type":"object","properties":{"text":{"type":"string"},"limit":{"type":"integer"}},"anyOf":[{"required":["text"]},{"required":["limit"]}]}`, nil},
		"keywords that are not supported": {open(`"text":{"not":{"type":"integer"}}`), nil},
		"a property that is refused":      {open(`"gone":false`), nil},

		"a property without a field":      {open(`"txt":{"type":"string"}`), []string{"properties/txt: the type main.search has no field for it"}},
		"a field that is never set":       {object(`"text":{"type":"string"}`, ""), []string{`additionalProperties: is false and there is no property "by", so that the field search.By is never set`, "9 times"}},
		"a required name without a field": {`{"type":"object","required":["text","txt"]}`, []string{`required: names "txt", and the type main.search has no field for it`}},
		"a string for an int":             {open(`"limit":{"type":"string"}`), []string{"properties/limit/type: accepts string, but the field search.Limit has the type int, which decodes integer only"}},
		"a number for an int":             {open(`"limit":{"type":"number"}`), []string{"properties/limit/type: accepts number, but the field search.Limit has the type int"}},
		"several types":                   {open(`"limit":{"type":["integer","string"]}`), []string{"properties/limit/type: accepts string, but"}},
		"any type":                        {open(`"limit":{"description":"how many"}`), []string{"properties/limit: accepts any type, but the field search.Limit has the type int"}},
		"a branch of a different type":    {open(`"limit":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`), []string{"properties/limit: accepts boolean, but"}},
		"items of a different type":       {open(`"tags":{"type":"array","items":{"type":"integer"}}`), []string{"properties/tags/items/type: accepts integer, but the field search.Tags has the type []string"}},
		"items of any type":               {open(`"tags":{"type":"array"}`), []string{"properties/tags/items: is absent, so that items of any type are accepted"}},
		"items of a tuple":                {open(`"tags":{"type":"array","prefixItems":[{"type":"integer"}],"items":false}`), []string{"properties/tags/prefixItems/0/type: accepts integer"}},
		"members of a different type":     {open(`"by":{"type":"object","additionalProperties":{"type":"string"}}`), []string{"properties/by/additionalProperties/type: accepts string"}},
		"members of any type":             {open(`"by":{"type":"object"}`), []string{"properties/by/additionalProperties: is absent"}},
		"an unknown value":                {open(`"sort":{"type":"string","enum":["name","size"]}`), []string{`properties/sort/enum: has the value "size", which the field's tag schema does not allow`}},
		"a value of a different type":     {open(`"limit":{"enum":[1,"all"]}`), []string{"properties/limit/enum: accepts string, but"}},
		"a value beyond the type":         {open(`"small":{"enum":[1,256]}`), []string{"properties/small/enum: has the value 256, but the field search.Small has the type uint8 and the maximum 255"}},
		"any value of an enum":            {open(`"sort":{"type":"string"}`), []string{"properties/sort: accepts other values than those of the field's tag schema"}},
		"no bounds":                       {open(`"small":{"type":"integer","minimum":-1}`), []string{"properties/small/minimum: accepts values beyond the minimum 0", "properties/small: accepts values beyond the maximum 255"}},
		"a definition":                    {`{"type":"object","properties":{"text":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"integer"}}}`, []string{"$defs/t/type: accepts integer, but the field search.Text"}},
		"a recursive definition":          {open(`"tree":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"name":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`), []string{"$defs/t/properties/name/type: accepts integer, but the field tree.Name"}},
		"a property of a branch":          {`{"type":"object","oneOf":[{"properties":{"limit":{"type":"string"}}}]}`, []string{"oneOf/0/properties/limit/type: accepts string, but"}},
		"a bound of one branch only":      {open(`"small":{"oneOf":[{"type":"integer","minimum":0,"maximum":9},{"type":"integer","minimum":10}]}`), []string{"properties/small: accepts values beyond the maximum 255"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := agreement.Input(json.RawMessage(c.manifest), json.RawMessage(search))
			check(t, got, err, c.want)
		})
	}
}

// check compares differences with the beginnings of their texts. The text "n times" repeats the one before, whatever the name of the field.
func check(t *testing.T, got []agreement.Difference, err error, want []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(want, "9 times"); i > 0 {
		if len(got) != 9 {
			t.Errorf("got %d differences, want 9", len(got))
		}
		got, want = got[:1], want[:i]
	}
	var texts []string
	for i, d := range got {
		text := strings.Join(d.Path, "/") + ": " + d.What
		if d.Remedy == "" {
			t.Errorf("%s: no remedy", text)
		}
		if i < len(want) && strings.HasPrefix(text, want[i]) {
			text = want[i]
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	want = slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

// TestOutput has schemas of a manifest and of a type, with the differences.
func TestOutput(t *testing.T) {
	const typ = `{"$comment":"main.found","type":"object","additionalProperties":false,"required":["id","names","next"],"properties":{
		"id":{"$comment":"found.ID int","type":"integer"},
		"state":{"$comment":"found.State string","type":"string","enum":["open","done"]},
		"names":{"$comment":"found.Names []string","type":"array","items":{"type":"string"}},
		"next":{"$comment":"found.Next *main.part","anyOf":[{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"$comment":"part.N float64","type":"number"}}},{"type":"null"}]}}}`
	const rest = `"names":{"type":"array"},"next":{"anyOf":[{"type":"object"},{"type":"null"}]}`
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"any object":             {`{"type":"object"}`, nil},
		"all properties":         {object(`"id":{"type":"number"},"state":{"type":"string"},`+rest, `,"required":["id"]`), nil},
		"narrower values":        {`{"type":"object","properties":{"id":{"type":"integer","minimum":1}}}`, nil},
		"an unknown member":      {object(`"id":{"type":"integer"},`+rest, ""), []string{`additionalProperties: is false and there is no property "state", which the type main.found has`}},
		"a member without field": {`{"type":"object","properties":{"ids":{"type":"array"}}}`, []string{"properties/ids: the type main.found has no field for it"}},
		"a required member":      {`{"type":"object","required":["state","ids"]}`, []string{`required: names "state", but its field in the type main.found is left out if it is empty`, `required: names "ids", and the type main.found has no field`}},
		"a different type":       {`{"type":"object","properties":{"id":{"type":"string"}}}`, []string{"properties/id/type: accepts string, but the field found.ID has the type int, which is encoded as integer"}},
		"integers of a float":    {`{"type":"object","properties":{"next":{"anyOf":[{"type":"null"},{"type":"object","properties":{"n":{"type":"integer"}}}]}}}`, []string{"properties/next/anyOf/1/properties/n/type: accepts integer, but the field part.N has the type float64"}},
		"no null":                {`{"type":"object","properties":{"next":{"type":"object"}}}`, []string{"properties/next: does not accept null, but the field found.Next"}},
		"a value that is absent": {`{"type":"object","properties":{"state":{"enum":["open"]}}}`, []string{`properties/state/enum: lacks the value "done"`}},
		"items":                  {`{"type":"object","properties":{"names":{"items":{"type":"integer"}}}}`, []string{"properties/names/items/type: accepts integer"}},
		"other members":          {`{"type":"object","additionalProperties":{"type":["integer","array","object"]},"properties":{"next":true}}`, []string{"additionalProperties/type: accepts integer or array or object, but the field found.State"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := agreement.Output(json.RawMessage(c.manifest), json.RawMessage(typ))
			check(t, got, err, c.want)
		})
	}
}

// TestWorkIsBounded compares schemas whose comparison would take exponential time, or would not end.
func TestWorkIsBounded(t *testing.T) {
	var defs, typeDefs strings.Builder
	for i := range 60 {
		fmt.Fprintf(&defs, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"}}}],"type":"object"},`, i, i+1, i+1)
		fmt.Fprintf(&typeDefs, `"t%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/t%d"},"b":{"$ref":"#/$defs/t%d"}}},`, i, i+1, i+1)
	}
	manifest := `{"type":"object","$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d60":{"type":"object"}}}`
	derived := `{"type":"object","properties":{"x":{"$ref":"#"},"a":{"$ref":"#/$defs/t0"}},"$defs":{` + typeDefs.String() + `"t60":{"type":"string"}}}`
	tooComplex := agreement.ErrTooComplex
	for name, c := range map[string]struct {
		manifest, derived string
		errs              [2]error // of Input and Output
		most              [2]int   // steps
	}{
		"choices that double":                {manifest, derived, [2]error{tooComplex, nil}, [2]int{100_001, 2_000}},
		"types that double":                  {derived, derived, [2]error{}, [2]int{3_000, 3_000}},
		"a schema that is itself":            {`{"$ref":"#"}`, derived, [2]error{}, [2]int{10, 10}},
		"a choice that is the schema":        {`{"anyOf":[{"$ref":"#"}]}`, derived, [2]error{tooComplex, tooComplex}, [2]int{2_000, 2_000}},
		"a deep schema and a recursive type": {strings.Repeat(`{"properties":{"x":`, 300) + "true" + strings.Repeat("}}", 300), `{"type":"object","properties":{"x":{"$ref":"#"}}}`, [2]error{nil, tooComplex}, [2]int{10, 2_000}},
	} {
		steps, errs := agreement.Steps(json.RawMessage(c.manifest), json.RawMessage(c.derived))
		if errs != c.errs || steps[0] > c.most[0] || steps[1] > c.most[1] {
			t.Errorf("%s: %d steps and the errors %v, want at most %d steps and %v", name, steps, errs, c.most, c.errs)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add(search, search)
	f.Add(`{"type":"object","properties":{"text":{"$ref":"#/properties/text"}},"items":[{}],"anyOf":[{"$ref":"#"}],"allOf":[true,false]}`, search)
	f.Add(`true`, `{"anyOf":[{"type":"null"},1],"$ref":"#/anyOf/0"}`)
	f.Add(`{"enum":[1e99999999,{}],"minimum":1e9999999}`, `{"type":"integer","minimum":1e9999999,"enum":[1e99999999]}`)
	f.Add(object(`"text":{"type":"integer"},"other":{}`, ""), search)
	var wrong, right strings.Builder // 30 differences
	for i := range 30 {
		fmt.Fprintf(&wrong, `"p%d":{"type":"string"},`, i)
		fmt.Fprintf(&right, `"p%d":{"$comment":"t.F int","type":"integer"},`, i)
	}
	f.Add(object(wrong.String()+`"last":{}`, ""), object(right.String()+`"last":{}`, ""))
	f.Fuzz(func(t *testing.T, manifest, derived string) {
		var root map[string]json.RawMessage
		valid := json.Valid([]byte(manifest)) && json.Unmarshal([]byte(derived), &root) == nil && root != nil
		for name, compare := range map[string]func(json.RawMessage, json.RawMessage) ([]agreement.Difference, error){"Input": agreement.Input, "Output": agreement.Output} {
			found, err := compare(json.RawMessage(manifest), json.RawMessage(derived))
			if (err == nil || err == agreement.ErrTooComplex) != valid {
				t.Errorf("%s: the error is %v, and the schemas are valid: %t", name, err, valid)
			}
			if len(found) > 20 {
				t.Errorf("%s: %d differences", name, len(found))
			}
			for _, d := range found {
				if d.What == "" || d.Remedy == "" {
					t.Errorf("%s: a difference at %q without its text or remedy: %+v", name, d.Path, d)
				}
			}
			again, _ := compare(json.RawMessage(manifest), json.RawMessage(derived)) // the error is the same, or found differs too
			if diff := cmp.Diff(found, again); diff != "" {
				t.Errorf("%s: a second comparison differs:\n%s", name, diff)
			}
		}
		steps, _ := agreement.Steps(json.RawMessage(manifest), json.RawMessage(derived))
		if max(steps[0], steps[1]) > 100_001 {
			t.Errorf("%d steps", steps)
		}
	})
}
