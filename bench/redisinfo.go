package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sluice/internal/stack"
)

// commands is how many commands a Redis has processed.
type commands struct {
	total   int64 // total_commands_processed: those inside scripts count too
	scripts int64 // calls of EVAL and EVALSHA
}

// redisCommands reads INFO; its own commands are among those counted.
func redisCommands(ctx context.Context, r *stack.Redis) (commands, error) {
	client := r.Client()
	defer client.Close()
	text, err := client.Info(ctx, "stats", "commandstats").Result()
	if err != nil {
		return commands{}, err
	}
	return parseCommands(text)
}

func parseCommands(info string) (commands, error) {
	var c commands
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "cmdstat_eval", "cmdstat_evalsha":
			value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		case "total_commands_processed":
		default:
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return commands{}, fmt.Errorf("INFO's line %q: %w", line, err)
		}
		if name == "total_commands_processed" {
			c.total = n
		} else {
			c.scripts += n
		}
	}
	return c, nil
}
