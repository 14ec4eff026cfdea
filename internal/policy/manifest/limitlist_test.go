package manifest_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestLimitsListHasEveryField(t *testing.T) {
	var all manifest.Limits
	fields := reflect.ValueOf(&all).Elem()
	for i := range fields.NumField() {
		fields.Field(i).SetInt(int64(i + 1))
	}
	list := all.List()
	if len(list) != fields.NumField() {
		t.Fatalf("List has %d limits, want %d", len(list), fields.NumField())
	}
	for i, l := range list {
		if l.Value != int64(i+1) {
			t.Errorf("%s is %d", l.Key, l.Value)
		}
		only := all.Map(func(j int, have manifest.Limit) int64 {
			if have.Key == l.Key {
				return have.Value
			}
			return 0
		})
		for j, have := range only.List() {
			if want := int64(i + 1); (j == i) != (have.Value == want) || j != i && have.Value != 0 {
				t.Errorf("mapping the others of %s to 0 leaves %s = %d", l.Key, have.Key, have.Value)
			}
		}
	}
}

func TestLimitFormatsForTOML(t *testing.T) {
	list := manifest.Limits{Memory: 64 << 20, Time: 90 * time.Second, Files: 3}.List()
	got := []string{list[0].TOML(), list[0].Text, list[1].TOML(), list[7].TOML()}
	want := []string{`"64MiB"`, "64MiB", `"1m30s"`, "3"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
