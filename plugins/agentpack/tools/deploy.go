package tools

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/token"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// lockName is the one lock of all calls that write, or that give tokens: those of another server of the same
// user wait for it, too.
const lockName = "agentpack"

// maxSample is how many paths a refusal names.
const maxSample = 20

// deployed is the payload of a deploy, before and after.
type deployed struct {
	Applied    bool   `json:"applied"`
	Reason     string `json:"reason,omitempty"`
	SnapshotID string `json:"snapshot_id,omitempty"`
	planned
	*confirmation
}

// confirmation is what deploy adds to its plan.
type confirmation struct {
	Token     string `json:"confirm_token"`
	PlanHash  string `json:"confirm_plan_hash"`
	ExpiresAt string `json:"confirm_token_expires_at"`
}

// rolledBack is the payload of a rollback.
type rolledBack struct {
	To    string `json:"rolled_back_to"`
	Event string `json:"event_snapshot_id"`
}

// lock keeps other calls that write waiting until this one ends. It comes before all that is read.
func lock() error {
	if err := sdk.Lock(lockName); err != nil {
		return fmt.Errorf("wait for other calls that write: %w", err)
	}
	return nil
}

func (c *call) deployer() deploy.Deployer {
	return deploy.Deployer{Env: c.services.Env, FS: apply.OS{CopyMode: copyMode, Sync: c.services.Env.Sync()}}
}

// copyMode gives a file the mode of another through the host, since a module has no modes of its own.
func copyMode(from, to string) error {
	var mode abi.FileModeResult
	if err := sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: from}, &mode); err != nil {
		return err
	}
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: to, Mode: &mode.Mode}, nil)
}

// recover ends what an earlier call was stopped in, under the lock, so that this one finds files of one state.
func (c *call) recover() error {
	if err := lock(); err != nil {
		return err
	}
	c.services.Env.Now = c.now() // a token can have become too old while the call waited
	note, err := c.deployer().Recover()
	if err != nil {
		return fmt.Errorf("an earlier call was stopped while it wrote, and what it had begun cannot be ended: %w", err)
	}
	if note != "" {
		c.notes = append(c.notes, note)
	}
	c.recovered = true
	return nil
}

// pending warns of what is left of a call that was stopped, for a call that only reads.
func (c *call) pending() {
	if c.recovered {
		return
	}
	switch left, err := c.deployer().Applier().Pending(); {
	case err != nil:
		c.warnings = append(c.warnings, fmt.Sprintf("whether an earlier call was stopped while it wrote cannot be told: %s", err))
	case left:
		c.warnings = append(c.warnings, "a call is writing just now, or was stopped while it wrote: files may be of the old state and of the new one; the next deploy, doctor or call that writes puts that right")
	}
}

// tokens is where the key of tokens is, and which of them were used.
func tokenStore() (token.Store, error) {
	dir := os.Getenv("BULKHEAD_STATE")
	if dir == "" {
		return token.Store{}, errors.New("there is no folder for the plugin's own state, in which the key of confirm tokens would be")
	}
	return token.Store{Dir: dir, Private: makePrivate}, nil
}

// private keeps a file from others than its owner.
func makePrivate(path string) error {
	mode := uint32(0o600)
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: path, Mode: &mode}, nil)
}

// binding is what a token is bound to beside the plan: the arguments as they take effect.
func (c *call) binding() token.Binding {
	return token.Binding{
		Machine: env.MachineID(c.services.Env, c.machine), Profile: c.profile,
		Repo: c.services.Env.RepoDir(c.repo), Target: c.target,
	}
}

// deployPlan shows a plan and gives a token for it.
func deployPlan(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	_, shown, err := c.plan()
	if err != nil {
		return nil, err
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: shown})
	if err != nil {
		return nil, err
	}
	issued, err := store.Issue(c.binding(), hash, c.services.Env.Now)
	if err != nil {
		return nil, err
	}
	return deployed{planned: shown, confirmation: &confirmation{
		Token: issued.Token, PlanHash: hash, ExpiresAt: issued.Expires.UTC().Format(time.RFC3339Nano),
	}}, nil
}

// deployApply carries out the plan that a token was given for, and no other.
func deployApply(c *call) (any, error) {
	if c.dryRun {
		_, shown, err := c.plan()
		return deployed{planned: shown}, err
	}
	if c.confirmToken == "" {
		_, err := token.Store{}.Check("", c.binding(), c.services.Env.Now)
		return nil, err
	}
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	result, shown, claim, err := c.confirmed(store)
	if err != nil {
		return nil, err
	}
	if err := checkAdopt(shown.Plan, c.adopt); err != nil {
		return nil, err
	}
	if deploy.NothingToDo(result.State, shown.Plan) {
		return deployed{planned: shown, Reason: "no_changes"}, store.Use(claim, c.services.Env.Now)
	}
	used, err := c.used(store, claim)
	if err != nil {
		return nil, err
	}
	id, err := c.deployer().Apply(deploy.Request{
		State: result.State, Plan: shown.Plan, LockSHA256: result.Lock.SHA256(), Extra: []apply.Change{used},
	})
	if err != nil {
		return nil, changedFault(err)
	}
	return deployed{Applied: true, SnapshotID: id, planned: shown}, nil
}

// used is the change that makes a token a used one. It is a part of the deploy: a call that is stopped leaves
// neither a deploy whose token is good nor a used token without a deploy.
func (c *call) used(store token.Store, claim token.Claim) (apply.Change, error) {
	file, before, after, err := store.Used(claim, c.services.Env.Now)
	change := apply.Change{Root: store.Dir, Path: file, After: after}
	if before != nil {
		change.Before = disk.SumBytes(before)
	}
	return change, err
}

// confirmed plans anew and checks that this is what the caller's token was given for.
func (c *call) confirmed(store token.Store) (*plan.Prepared, planned, token.Claim, error) {
	fail := func(err error) (*plan.Prepared, planned, token.Claim, error) {
		return nil, planned{}, token.Claim{}, err
	}
	claim, err := store.Check(c.confirmToken, c.binding(), c.services.Env.Now)
	if err != nil {
		return fail(err)
	}
	result, shown, err := c.plan()
	if err != nil {
		return fail(fault.New(fault.ConfirmTokenMismatch, fault.Details{
			"hint": "put right what keeps the plan from being made, then call deploy again", "expected_confirm_plan_hash": claim.PlanHash(),
		}, "the plan that was confirmed cannot be made any more: %w", err))
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: shown})
	if err != nil {
		return fail(err)
	}
	if err := claim.Matches(hash); err != nil {
		return fail(err)
	}
	return result, shown, claim, nil
}

// adoptable refuses a plan that overwrites files of the user's own, unless the caller has allowed that.
func checkAdopt(planned plan.Plan, adopt bool) error {
	paths := planned.Adopts()
	if adopt || len(paths) == 0 {
		return nil
	}
	return fault.New(fault.AdoptConfirmRequired, fault.Details{
		"flag": "--adopt", "adopt_updates": len(paths), "sample_paths": paths[:min(len(paths), maxSample)],
	}, "%d files that agentpack has not written would be overwritten; call again with adopt = true and the same confirm_token to allow that", len(paths))
}

// applyFault says of a file that changed while the plan was carried out that the plan is not the one that was
// confirmed any more.
func changedFault(err error) error {
	if !errors.Is(err, apply.ErrChanged) {
		return err
	}
	return fault.New(fault.ConfirmTokenMismatch, fault.Details{"hint": "call deploy again to see the plan as it is now"}, "%w", err)
}

// rollback puts files back to how a snapshot has them.
func rollback(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	event, warning, err := c.deployer().Rollback(c.to)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		c.warnings = append(c.warnings, warning)
	}
	return rolledBack{To: c.to, Event: event}, nil
}
