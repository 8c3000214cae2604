package config

import (
	"cmp"
	"time"

	"github.com/cairndb/cairn/node"
)

// background is what the leader does by itself. An interval of 0 switches its work off.
type background struct {
	ThinkMinutes         *int `toml:"think_interval_minutes"`
	ConsolidationMinutes *int `toml:"consolidation_interval_minutes"` // the older name of the same
	Consolidate          bool `toml:"consolidate"`
	SessionHours         int  `toml:"session_hours"`
	DecaySweepMinutes    *int `toml:"decay_sweep_interval_minutes"` // fading memories are told of by thinking
}

func (b background) node() (c node.Background) {
	if m := cmp.Or(b.ThinkMinutes, b.ConsolidationMinutes); m != nil {
		c.Think = time.Duration(*m) * time.Minute
		c.NoThink = *m <= 0
	}
	c.Consolidate, c.SessionAge = b.Consolidate, time.Duration(b.SessionHours)*time.Hour
	return c
}
