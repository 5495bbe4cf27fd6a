package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/doctor"
	"sluice/internal/redisclient"
	"sluice/internal/scan"
)

func newDoctor() *cobra.Command {
	var flags redisclient.Flags
	var envoys []string
	var file string
	var share float64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with Redis, the keys in it, and the gateways",
		Long: `Looks at Redis (version, eviction, memory, latency, clocks, rights, cluster,
replicas, persistence), at the keys in it (no expiry, big, without hash tag, written
by other programs, from a clock that runs ahead), and with --envoy at gateways by
their admin interface (the filter, the pipe, client addresses, timeouts, labels, and
whether all run the same configuration). Each finding says what to do. It changes
nothing.

With --envoy and without --redis only the gateways are looked at.

` + exitCodes,
		Example: `  sluice doctor --redis 127.0.0.1:6379 --config sluice.yaml
  sluice doctor --envoy http://127.0.0.1:9901 --envoy http://10.0.0.2:9901
  sluice doctor --redis redis:6379 --envoy 127.0.0.1:9901 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if share < 0.001 || share > 1 {
				return usageError{errors.New("--share is from 0.001 to 1")}
			}
			p := &doctor.Patient{Gateways: envoys, Pacer: &scan.Pacer{Share: share}}
			for i, e := range envoys {
				if strings.HasPrefix(e, "https://") || strings.TrimSpace(e) == "" {
					return usageError{fmt.Errorf("--envoy %q: an admin interface is host:port or http://host:port", e)}
				}
				envoys[i] = strings.TrimSpace(e)
			}
			if file != "" {
				if err := fillPatient(cmd, p, file); err != nil {
					return err
				}
				flags.Fill(redisDefaults(p.Policy))
			}
			if len(envoys) == 0 || cmd.Flags().Changed("redis") {
				rdb, err := flags.Connect(cmd.Context())
				if err != nil {
					return redisError(&flags, err)
				}
				defer rdb.Close()
				p.Redis = rdb
			}
			found, err := doctor.Examine(cmd.Context(), p)
			if err != nil {
				return redisError(&flags, err)
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), found); err != nil {
					return err
				}
			} else {
				printFindings(newPrinter(cmd.OutOrStdout()), found)
			}
			if doctor.Worst(found) == doctor.Fail {
				return foundError{errors.New("something is wrong: see the findings marked fail")}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&envoys, "envoy", nil, "an Envoy's admin interface, as in http://127.0.0.1:9901; repeatable")
	f.StringVar(&file, "config", "", "the limits' configuration: a file as for check")
	f.Float64Var(&share, "share", scan.Share, "most of Redis's time to take, from 0.001 to 1")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	flags.Register(f)
	return cmd
}

// fillPatient reads the configuration.
func fillPatient(cmd *cobra.Command, p *doctor.Patient, file string) error {
	policy, err := readPolicy(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	p.Policy, p.PolicyAt = policy, shownFile(file)
	setHashSecret(policy)
	if file == "-" {
		return nil // it was read
	}
	found, err := readConfigs(file, nil)
	if err != nil {
		return err
	}
	p.PolicyRaw = found[0].JSON
	return nil
}

func printFindings(p *printer, all []doctor.Finding) {
	colours := map[doctor.Severity]string{doctor.OK: green, doctor.Warn: yellow, doctor.Fail: red}
	counts := map[doctor.Severity]int{}
	for _, f := range all {
		counts[f.Severity]++
		subject := ""
		if f.Subject != "" {
			subject = safe(f.Subject) + ": "
		}
		p.line("%s  %s: %s%s", p.style(colours[f.Severity], fmt.Sprintf("%-4s", f.Severity)), f.Check, subject, safe(f.Text))
		if f.Remedy != "" {
			p.line("      %s", p.style(faint, "→ ")+safe(f.Remedy))
		}
	}
	p.line("%d ok, %d warn, %d fail", counts[doctor.OK], counts[doctor.Warn], counts[doctor.Fail])
}
