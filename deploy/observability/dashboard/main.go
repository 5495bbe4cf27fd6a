// Command dashboard writes the Grafana dashboard of panels.go as JSON to the file
// that it is given.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboard FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(path string) error {
	d, err := build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// source is the Prometheus that is chosen on top of the dashboard.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

func build() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder("sluice").
		Uid("sluice").
		Description("Rate limits at the gateway: who is limited, by what, and how Redis is.").
		Tags([]string{"sluice", "envoy", "rate limit"}).
		Timezone(common.TimeZoneBrowser).
		Time("now-1h", "now").
		Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(choice("instance", "Gateway", "label_values(sluice_panics_total, instance)")).
		WithVariable(choice("limit", "Limit", "label_values(sluice_decisions_total, limit)"))
	id := uint32(0)
	for _, r := range rows {
		id++
		b.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			b.WithPanel(p.build(id))
		}
	}
	return b.Build()
}

// choice is a variable of several values, all of them at first.
func choice(name, label, query string) *dashboard.QueryVariableBuilder {
	all := dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}
	shown := dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(source).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).
		IncludeAll(true).
		AllValue(".*").
		Current(dashboard.VariableOption{Selected: cog.ToPtr(true), Text: shown, Value: all})
}

func (p panel) build(id uint32) cog.Builder[dashboard.Panel] {
	if p.number {
		b := stat.NewPanelBuilder().
			Id(id).
			Title(p.title).Description(p.about).Unit(p.unit).Datasource(source).
			Height(4).Span(p.width).
			NoValue("none").
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
			Orientation(common.VizOrientationAuto).
			ColorMode(common.BigValueColorModeNone).
			GraphMode(common.BigValueGraphModeArea)
		for i, q := range p.queries {
			b.WithTarget(q.build(i))
		}
		return b
	}
	b := timeseries.NewPanelBuilder().
		Id(id).
		Title(p.title).Description(p.about).Unit(p.unit).Datasource(source).
		Height(8).Span(p.width).
		Min(0).
		LineWidth(1).FillOpacity(10).
		ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().
			ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			Calcs([]string{"mean", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.max != 0 {
		b.Max(p.max)
	}
	if p.stacked {
		b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	for i, q := range p.queries {
		b.WithTarget(q.build(i))
	}
	return b
}

func (q query) build(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(string(rune('A' + i))).
		Datasource(source).
		Expr(q.expr).
		LegendFormat(q.legend).
		Range()
}
