/** A choice of one among few. */
import { ChevronDown } from "lucide-react";
import { Button, Label, ListBox, ListBoxItem, Popover, Select as AriaSelect, SelectValue } from "react-aria-components";

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; text: string }[];
  onChange: (value: T) => void;
}

export function Select<T extends string>({ label, value, options, onChange }: SelectProps<T>) {
  return (
    <AriaSelect value={value} onChange={(key) => onChange(key as T)} className="flex items-center gap-2">
      <Label className="text-xs font-medium text-ink-2">{label}</Label>
      <Button className="inline-flex h-8 items-center gap-2 rounded-md border border-line-strong bg-surface px-2.5 hover:bg-sunken">
        <SelectValue />
        <ChevronDown aria-hidden className="size-4 text-ink-3" />
      </Button>
      <Popover className="min-w-(--trigger-width) rounded-md border border-line bg-raised p-1 shadow-float">
        <ListBox className="outline-none">
          {options.map((option) => (
            <ListBoxItem
              key={option.value}
              id={option.value}
              textValue={option.text}
              className="cursor-pointer rounded px-2 py-1 outline-none focus:bg-accent-soft data-selected:font-semibold"
            >
              {option.text}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}
