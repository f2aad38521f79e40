/** A button that asks before it acts, and shows what went wrong if the action fails. */
import { useState, type ReactNode } from "react";
import { Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Button, type ButtonProps } from "./Button";
import { ErrorNote } from "./Notes";

interface ConfirmProps {
  trigger: ReactNode;
  look?: ButtonProps["look"];
  label?: string;
  isDisabled?: boolean;
  /** The id of a text that says more, such as why it is disabled. */
  describedBy?: string;
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  onConfirm: () => Promise<unknown>;
}

export function Confirm({ trigger, look, label, isDisabled, describedBy, ...question }: ConfirmProps) {
  const { title, children, action, danger = false, onConfirm } = question;
  return (
    <DialogTrigger>
      <Button look={look} aria-label={label} isDisabled={isDisabled} aria-describedby={describedBy}>
        {trigger}
      </Button>
      <ModalOverlay isDismissable className="fixed inset-0 z-50 grid place-items-center bg-black/40 p-4">
        <Modal className="w-full max-w-md rounded-lg border border-line bg-raised shadow-float">
          <Dialog role="alertdialog" className="outline-none">
            {({ close }) => (
              <Question title={title} action={action} danger={danger} onConfirm={onConfirm} close={close}>
                {children}
              </Question>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

interface QuestionProps extends Pick<ConfirmProps, "title" | "children" | "action" | "onConfirm"> {
  danger: boolean;
  close: () => void;
}

function Question({ title, children, action, danger, onConfirm, close }: QuestionProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <div className="flex flex-col gap-3 p-5">
      <Heading slot="title" className="text-sm font-semibold">
        {title}
      </Heading>
      <div className="text-ink-2">{children}</div>
      {error !== null && <ErrorNote error={error} />}
      <div className="flex justify-end gap-2 pt-1">
        <Button onPress={close}>Cancel</Button>
        <Button look={danger ? "danger" : "primary"} isDisabled={busy} onPress={() => void confirm()}>
          {action}
        </Button>
      </div>
    </div>
  );
}
