/** Labelled inputs. */
import type { ReactNode } from "react";
import {
  FieldError,
  Input,
  Label,
  SearchField as AriaSearchField,
  Text,
  TextArea,
  TextField as AriaTextField,
  type SearchFieldProps,
  type TextFieldProps,
} from "react-aria-components";

const box =
  "rounded-md border border-line-strong bg-surface px-2.5 text-ink placeholder:text-ink-3 focus:outline-2 focus:-outline-offset-1 focus:outline-accent disabled:opacity-50 aria-invalid:border-bad";

interface FieldProps extends Omit<TextFieldProps, "className"> {
  label: string;
  help?: ReactNode;
  error?: string | null;
  placeholder?: string;
  mono?: boolean;
  rows?: number;
  className?: string;
}

export function TextField({
  label,
  help,
  error,
  placeholder,
  mono = false,
  rows,
  className = "",
  ...props
}: FieldProps) {
  const face = mono ? "font-mono text-xs" : "";
  return (
    <AriaTextField
      {...props}
      isInvalid={error !== undefined && error !== null}
      className={`flex min-w-0 flex-col gap-1 ${className}`}
    >
      <Label className="text-xs font-medium text-ink-2">{label}</Label>
      {rows === undefined ? (
        <Input placeholder={placeholder} className={`${box} h-8 w-full ${face}`} />
      ) : (
        <TextArea placeholder={placeholder} rows={rows} className={`${box} w-full resize-y py-1.5 ${face}`} />
      )}
      {help !== undefined && (
        <Text slot="description" className="text-xs text-ink-3">
          {help}
        </Text>
      )}
      <FieldError className="text-xs text-bad">{error}</FieldError>
    </AriaTextField>
  );
}

export function SearchField({
  label,
  placeholder,
  className = "",
  ...props
}: SearchFieldProps & { label: string; placeholder: string; className?: string }) {
  return (
    <AriaSearchField {...props} aria-label={label} className={className}>
      <Input placeholder={placeholder} className={`${box} h-8 w-full`} />
    </AriaSearchField>
  );
}
